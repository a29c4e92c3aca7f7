"""Frozen values that all packages use; this package imports no other one."""
