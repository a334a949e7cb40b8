"""Cost-efficient enactment: Tables 3 to 6, Figs. 8 to 11."""
