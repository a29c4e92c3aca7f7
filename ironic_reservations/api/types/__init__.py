"""The types of requests, and how they are parsed."""
