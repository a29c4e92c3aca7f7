"""The usage of leases, by day."""
