"""What people said of cases, in a database: every label, skip and undo is a line that is never changed."""
