"""One migration: SSM, its ties, and the partition between two others."""
