"""Statistics of runs: agreement with people, comparison of two runs, resampling. Pure functions over arrays."""
