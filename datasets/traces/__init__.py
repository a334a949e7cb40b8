"""Real and synthetic series, and the Spark pipeline from keyed events to traces."""
