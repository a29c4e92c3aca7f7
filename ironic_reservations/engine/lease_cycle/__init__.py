"""The steps of a lease in time: its start, its health and its end.

They make Ironic, Placement and Nova agree with the timeline.
"""
