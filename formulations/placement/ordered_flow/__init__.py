"""Placement without streams as a flow with side rows: goals in order, many in one linear program, compared in integers."""
