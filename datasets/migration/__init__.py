"""Node counts that a load asks for, and how work and state spread over tasks."""
