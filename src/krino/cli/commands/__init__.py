"""One module for each command of `krino`; only what the command line needs is imported before the command runs."""
