"""Leases that leave their dates open."""
