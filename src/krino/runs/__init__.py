"""Runs: the folder that holds a run's manifest and journal, and how a run is continued."""
