"""Trace readers: each has `recognise` (what a format was recognised by, or None) and `read`."""
