"""Notifications on the message bus."""
