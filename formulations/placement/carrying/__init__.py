"""How much a placement carries: programs and bounds."""
