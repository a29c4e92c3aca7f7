"""Idempotency keys: a request that is sent twice is carried out once."""
