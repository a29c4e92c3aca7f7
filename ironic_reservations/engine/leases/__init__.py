"""Use cases of leases: create, change, end, heal, find."""
