"""Batch files: requests go to a provider by the file, at a lower price, and the replies come back within a day.

`queue` takes the requests of a labeller and gives it the replies, `ledger` remembers on disk what was sent, `jobs`
sends files and brings replies, `providers` speaks to OpenAI and Anthropic, `calling` is the HTTP below that.
"""
