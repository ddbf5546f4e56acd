"""Judges the cases of requests: the service, its pool of workers, and fair turns between clients."""
