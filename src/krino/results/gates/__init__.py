"""Gates: rules that a run must keep, and what to tell a build when it does not."""
