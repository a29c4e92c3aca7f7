"""One folder for each optional feature; ``in_order`` lists them."""
