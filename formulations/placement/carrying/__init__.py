"""Programs and bounds of the largest multiple of a load that a placement carries."""
