"""Controllers: the handlers of all paths."""
