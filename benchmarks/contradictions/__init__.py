"""Pairs of statements with and without a contradiction, and the detection that is measured on them."""
