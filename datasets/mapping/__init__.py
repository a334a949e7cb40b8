"""Platforms on bi-modal networks, with traces of stream tasks."""
