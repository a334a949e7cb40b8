"""Problems of enactment with known optima."""
