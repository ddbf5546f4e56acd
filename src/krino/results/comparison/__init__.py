"""Two runs over the same cases: what changed, how sure that is, and what it cost."""
