"""State migration: task intervals and the problems of a single step, a sequence and a policy."""
