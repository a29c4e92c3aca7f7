"""Compares Placement with our rows, and repairs differences."""
