"""Execution of a migration: roles of nodes, mini-migrations, and phases of transfers."""
