"""How the embedded labeller decides: evidence for each claim, support, relevance and nearness in meaning."""
