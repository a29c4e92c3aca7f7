"""Decides on the state of Placement and Nova, and compares it."""
