"""Gives instances the class of their node; a one-off after an upgrade."""
