"""Stream engines that run outside: what their jobs do is captured, read, fitted and advised on; one folder per engine."""
