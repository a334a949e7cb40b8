"""A method for placements, and a kind of problem of its own: partitions of topics on the brokers of a log."""
