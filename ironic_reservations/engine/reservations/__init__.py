"""Reservations of single nodes: the use cases of ``/v1/reservations``."""
