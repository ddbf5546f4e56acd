"""Krino for Python programs: judge cases, run a judge over files, read what a run recorded."""
