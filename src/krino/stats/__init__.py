"""Statistics over arrays: confidence intervals, rater agreement, paired tests, the bootstrap. Pure functions."""
