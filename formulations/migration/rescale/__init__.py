"""The program over ranges: a column for every range of tasks that a replica may hold on a node."""
