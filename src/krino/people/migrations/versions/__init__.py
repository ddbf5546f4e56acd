"""One module a step. A step that has been published is never edited."""
