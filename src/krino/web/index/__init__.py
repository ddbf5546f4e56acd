"""The index of a run, so that no page has to read the whole run."""
