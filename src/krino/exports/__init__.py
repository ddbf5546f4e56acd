"""Writes runs for other tools: CSV, Excel, Parquet, data frames, OpenTelemetry."""
