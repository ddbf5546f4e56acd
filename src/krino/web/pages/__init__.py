"""The pages of the workbench, one module a page; each has a `router`."""
