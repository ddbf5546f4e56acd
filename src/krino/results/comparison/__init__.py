"""Compares two runs over the same cases."""
