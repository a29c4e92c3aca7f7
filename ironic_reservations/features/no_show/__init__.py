"""Leases that use none of their nodes."""
