"""Problems of migration with known optima."""
