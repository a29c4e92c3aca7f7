"""The planner: pure functions of frozen values; no I/O, no clock, no ORM."""
