"""The nodes that projects have had, and for how long."""
