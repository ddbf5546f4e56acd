"""Finders of facts: what repeats what, what was known already, and what nothing uses."""
