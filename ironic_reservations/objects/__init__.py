"""Versioned objects in messages to other processes.

oslo.versionedobjects keeps one registry for the process, and inside Ironic's
API that process is Ironic's: so the names of the classes here, and their
namespace, are this project's own.
"""
