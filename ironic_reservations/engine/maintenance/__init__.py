"""Maintenance windows: book them, end them, and keep nodes in maintenance."""
