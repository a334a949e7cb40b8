"""Placement of given tasks on equal nodes: the peak loads of shared resources in order of priority, with proof."""
