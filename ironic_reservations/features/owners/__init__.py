"""Hosts that their owners lend, and can get back."""
