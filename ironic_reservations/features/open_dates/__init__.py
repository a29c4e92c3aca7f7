"""Leases with open dates."""
