"""Finds the values of a text (numbers, quantities, dates, times, how often) and compares them as values."""
