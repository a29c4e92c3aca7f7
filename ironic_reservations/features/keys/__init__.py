"""Requests that are sent twice with one key."""
