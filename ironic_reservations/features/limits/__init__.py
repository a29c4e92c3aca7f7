"""The limits of projects on their leases."""
