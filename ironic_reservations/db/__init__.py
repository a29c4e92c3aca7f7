"""Tables, queries and migrations of the timeline."""
