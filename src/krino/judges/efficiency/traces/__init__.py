"""Trace readers: one module a format, each with `recognise` (what gives it away, or None) and `read`."""
