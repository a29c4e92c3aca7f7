"""Decides what should be in Placement and Nova, and compares it."""
