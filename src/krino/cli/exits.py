"""The exit codes, in one place."""

DONE = 0
GATE_FAILED = 1
WRONG_USAGE = 2
CASES_FAILED = 3
INTERRUPTED = 130
