"""Guarded requests in flight to Ironic, and their outcomes."""
