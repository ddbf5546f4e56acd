"""The workbench: runs, cases, labels and comparisons in a browser, and the judges over HTTP."""
