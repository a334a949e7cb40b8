"""Solutions on a terminal, one module per topic."""
