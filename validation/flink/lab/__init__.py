"""Jobs to measure on, in Java: their sources, what compiles them, and the jar that the package brings along."""
