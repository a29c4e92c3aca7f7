"""Commands for ``baremetal`` and ``openstack baremetal``."""
