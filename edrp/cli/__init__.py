"""The command line: thin, everything it does can be done from Python."""

from edrp.cli.app import app, main

__all__ = ["app", "main"]
