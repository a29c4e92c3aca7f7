"""Notices to webhooks and by mail."""
