"""The layers around the controllers."""
