"""A method, a metric, a solver, and a kind of problem of its own: partitions of topics on the brokers of a log."""
