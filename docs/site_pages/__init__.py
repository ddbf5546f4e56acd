"""Pages of the documentation that are made from the program; each module has `pages()`: path to Markdown."""
