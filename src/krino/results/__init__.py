"""Reports: what a run says, for a terminal, a web page, a pull request, or another program."""
