"""How much a placement carries: the largest multiple of its load."""
