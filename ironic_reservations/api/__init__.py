"""The REST API: /v1/reservations, versions, health and metrics."""
