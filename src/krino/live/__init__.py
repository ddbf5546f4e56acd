"""Judges traces as they come: reads them from a source, judges each once, and writes its scores back."""
