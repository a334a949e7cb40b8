"""Rules for changing the number of nodes that systems use today, as baselines of migrations of least state."""
