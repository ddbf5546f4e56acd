"""Labellers: who answers the open questions of a case (embedded, LLM, recording)."""
