"""Holds of reserved nodes in Placement."""
