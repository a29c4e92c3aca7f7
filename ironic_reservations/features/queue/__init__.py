"""Leases that wait for an earlier start."""
