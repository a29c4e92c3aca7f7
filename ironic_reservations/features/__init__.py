"""One folder for each optional feature; ``folders`` lists them."""
