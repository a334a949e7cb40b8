"""Builders: how a problem becomes a mixed-integer program."""
