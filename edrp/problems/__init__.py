"""Problems that can be solved, one module per kind, and the solutions that belong to them."""
