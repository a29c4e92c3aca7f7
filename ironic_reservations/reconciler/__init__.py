"""Loops that keep Ironic, Placement and Nova in agreement with the rows."""
