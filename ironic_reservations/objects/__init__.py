"""Versioned objects in messages to other processes.

oslo.versionedobjects has one registry for a process, which may be that of
Ironic's API. The names of the classes and their namespace must therefore
differ from Ironic's.
"""
