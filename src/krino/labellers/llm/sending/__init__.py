"""Sends one request to a model: money and pace first, then HTTP with retries."""
