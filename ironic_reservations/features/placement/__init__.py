"""Placement and Nova, kept in agreement with the timeline."""
