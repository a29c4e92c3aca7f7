"""Maintenance windows."""
