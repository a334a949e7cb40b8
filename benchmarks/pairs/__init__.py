"""The pairs that `peers.py` measures, one file for each subject."""
