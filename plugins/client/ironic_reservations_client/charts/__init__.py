"""Charts of the commands in a terminal of any width, drawn with rich."""
