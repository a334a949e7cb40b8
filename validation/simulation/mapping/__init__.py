"""Simulation of streams on servers that dedicated links and the public network join (bi-modal networks, §6)."""
