"""Messages that are sent after the commit, and are not lost."""
