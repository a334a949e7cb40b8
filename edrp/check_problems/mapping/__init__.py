"""Problems of mapping with known optima."""
