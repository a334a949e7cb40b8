"""Known sequences of migrations: OMS by enumeration, by prices, and by search."""
