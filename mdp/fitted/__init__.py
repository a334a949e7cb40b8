"""Policies for more partitions than can be enumerated: costs fitted to samples, checked by simulation before use."""
