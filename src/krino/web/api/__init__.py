"""The HTTP API for judging and runs."""
