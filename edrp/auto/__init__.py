"""`auto`: which methods are run on a problem, and how they help each other."""
