"""The Python clients and the commands; nothing here runs on the server."""
