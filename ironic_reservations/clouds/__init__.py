"""Thin clients for other services."""
