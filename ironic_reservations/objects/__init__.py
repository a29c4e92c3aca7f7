"""The objects that travel to other processes, each with a version.

NOTE: oslo.versionedobjects keeps one registry for the process, and inside
Ironic's API that process is Ironic's: the names of the classes here, and
their namespace, are of this project alone.
"""
