"""Computes the verdict from the facts: the decision meant, correctness, confidence, errors, quality."""
