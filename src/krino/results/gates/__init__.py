"""Gates: rules that a run must meet for a build to pass."""
