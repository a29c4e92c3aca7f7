"""Keeps Placement and Nova in agreement with the timeline."""
