"""Transitions between numbers of nodes: the migration transition matrix, Markov chains and load scenarios."""
