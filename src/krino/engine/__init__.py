"""Engines: carry cases through a judge, one or many at a time."""
