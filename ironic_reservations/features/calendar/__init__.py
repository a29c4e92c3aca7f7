"""The calendar page, and the calendar of a project."""
