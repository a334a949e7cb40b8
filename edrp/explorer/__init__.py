"""The explorer: a problem and its solution as one page to look at, without a network."""
