"""Optimal operator state migration: Tables 3 and 4, Figs. 9, 10, 12 and 14."""
