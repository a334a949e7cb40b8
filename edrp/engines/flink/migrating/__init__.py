"""Moving tasks of live operators while their job goes on: discovery, plans, the control log, and the driver that follows."""
