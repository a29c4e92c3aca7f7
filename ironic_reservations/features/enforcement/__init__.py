"""The enforcement service of the operator."""
