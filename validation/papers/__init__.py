"""Reproductions of the papers' tables and figures, one package per paper."""
