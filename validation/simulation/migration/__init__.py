"""Migration policies followed through a sequence of node counts."""
