"""Placement and Nova, kept in agreement with the timeline.

``holds``: a host that is promised now is held by an allocation of ours. Each
attempt needs a new consumer, so a row is written before each request, and
``recovery`` completes what was interrupted.

``lease_providers``: a lease is used in Nova through a class, a provider on
each host and a flavor. Their names follow from the reservation, so nothing is
stored: ``machine`` compares the desired state with the observed one and
returns steps, ``converge`` takes them, and both are repeated.

``audit``: compares Placement and Nova with our rows, host by host, and repairs
the differences with the functions of the two folders above.

``compute_hosts`` and ``compute_mirror``: hosts of Nova that are no nodes of
Ironic, as Placement shows them.

``class_heal``: gives instances that are older than the class of their node
that class. An operator runs it once; nothing else here needs it.
"""
