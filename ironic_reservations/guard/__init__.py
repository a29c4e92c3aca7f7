"""The middleware around Ironic's API that protects promised nodes."""
