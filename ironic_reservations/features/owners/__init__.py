"""Hosts that their owners lend, and want back."""
