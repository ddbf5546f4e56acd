"""What people said of cases, in a database: every label, skip and undo is a line that is never changed."""

FOLDER = ".workbench"
FILE = "labels.sqlite"
"""Where a folder of runs keeps them, unless another database is named."""
