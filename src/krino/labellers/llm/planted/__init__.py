"""Detects answers that a case brings along, so that a model's copy of one is never treated as a judgement."""
