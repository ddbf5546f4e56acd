"""Exports: a run as CSV, Parquet, JSON lines, OpenTelemetry events, or a data frame in Python."""
