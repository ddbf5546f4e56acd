"""What other programs call: judging and runs as JSON."""
