"""A judge against people: read their labels, hold them against a run's verdicts, and say how far both agree."""
