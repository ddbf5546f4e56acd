"""Krino: evaluation by judges whose verdicts can be checked. Models label, code scores."""

__version__ = "0.1.0"
