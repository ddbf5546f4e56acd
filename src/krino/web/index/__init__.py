"""The index of a run: what a page of its cases is found by, so that no page reads the whole run."""
