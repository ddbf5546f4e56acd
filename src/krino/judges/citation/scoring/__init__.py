"""Which decision is meant, how the answer stands against it, and what the matcher did wrong."""
