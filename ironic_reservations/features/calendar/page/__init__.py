"""Serves the calendar page, its sessions and its access to the API."""
