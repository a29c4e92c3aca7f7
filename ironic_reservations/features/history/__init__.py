"""The history of leases."""
