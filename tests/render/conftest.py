"""A browser, for the tests of reports."""

from browser import window

__all__ = ["window"]
