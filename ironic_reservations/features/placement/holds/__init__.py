"""Holds: allocations that reserve promised hosts in Placement."""
