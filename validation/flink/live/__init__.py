"""Live migration on real clusters: runs in which processes are killed, and a judge of what came out."""
