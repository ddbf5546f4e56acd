"""A browser and a workbench to open in it, for the tests of pages."""

from browser import window
from live_workbench import address

__all__ = ["address", "window"]
