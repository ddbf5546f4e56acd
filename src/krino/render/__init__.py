"""How results are shown: on a terminal, as Markdown, as a page."""
