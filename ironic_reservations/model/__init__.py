"""Frozen values that all packages use; this one imports no other package."""
