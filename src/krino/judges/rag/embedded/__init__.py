"""The embedded labeller: labels one case with the entailment model, its role head and exact comparison of values."""
