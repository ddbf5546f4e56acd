"""The exit codes, in one place. Each has one meaning: 1 is a gate that failed and nothing else."""

DONE = 0
GATE_FAILED = 1
WRONG_USAGE = 2
CASES_FAILED = 3
FAULT = 70
"""A fault in Krino or in a judge (EX_SOFTWARE of sysexits.h), with a traceback."""
INTERRUPTED = 130
READER_GONE = 141
"""Whoever read our output has closed it (`krino show RUN | head`): what `cat` and the like end with, too."""
