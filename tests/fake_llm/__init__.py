"""A fake LLM server on loopback, with the faults that real ones have."""

from fake_llm.faults import FAULT_NAMES, FEATURES, Faults
from fake_llm.replies import ReceivedRequest
from fake_llm.server import FakeServer, Stats
from krino.engine.sample_labels import example_of

__all__ = ["FAULT_NAMES", "FEATURES", "FakeServer", "Faults", "ReceivedRequest", "Stats", "example_of"]
