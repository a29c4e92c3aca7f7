"""Providers, classes and flavors through which a lease is used in Nova."""
