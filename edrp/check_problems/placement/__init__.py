"""Problems of placement with known optima."""
