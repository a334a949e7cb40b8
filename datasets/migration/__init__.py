"""Node counts that a load requires, and distributions of work and state over tasks."""
