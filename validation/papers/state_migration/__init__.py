"""Optimal operator state migration: Tables 3 and 4, Figs. 8 to 12 and 14."""
