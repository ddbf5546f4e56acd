"""Compares a judge with people: reads their labels and measures how far verdicts agree with them."""
