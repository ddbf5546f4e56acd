"""A real language model of 135 million parameters, for `make test-llm`: it can hold a form, and judge nothing."""
