"""A judge written as one Markdown file: front matter says inputs, labels, outputs and rules, the body is the prompt.

`reading` makes a `Definition` of the text and reports every mistake with its line and column, `judge` makes a judge
of the definition, `cel` evaluates its rules, `one_line` writes such a file from one sentence.
"""
