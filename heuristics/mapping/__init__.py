"""Mapping stream tasks on servers and links, and re-allocating links: the decentralised algorithms of bi-modal networks."""
