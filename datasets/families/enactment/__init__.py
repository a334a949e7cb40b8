"""Generated snapshots, leasing problems and scenarios of enactment."""
