"""Bi-modal network resources: Figs. 7 to 9."""
