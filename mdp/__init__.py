"""State migration over time. The room is laid out in ARCHITECTURE.md; its first model comes with its own release."""
