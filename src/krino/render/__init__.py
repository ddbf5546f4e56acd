"""Shows results: functions that turn them into blocks, and renderers for terminal, Markdown and HTML."""
