"""Finders of facts: what repeats what, what was known already, and what nothing uses.

`facts.py` gathers what they find; `local.py` turns it into labels for the embedded labeller.
"""
