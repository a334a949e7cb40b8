"""Families of generated instances, for every kind of problem: the only place that draws random problems."""
