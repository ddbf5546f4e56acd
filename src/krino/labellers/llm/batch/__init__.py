"""Batch files: requests go to a provider by the file, at a lower price, and the replies come back within a day.

`queue` takes the requests of a labeller and gives it the replies, `ledger` remembers on disk what was sent, `jobs`
sends files and fetches replies, `providers` has the formats of OpenAI and Anthropic, `client` makes their HTTP calls.
"""
