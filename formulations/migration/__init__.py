"""A single-step migration as a program."""
