"""How numbers of nodes follow each other: the migration transition matrix."""
