"""For tests of judges: a fake LLM server on loopback, with the faults that real ones have."""

from krino.contract.schema_instances import example_of
from krino.testing.faults import FAULT_NAMES, FEATURES, Faults
from krino.testing.replies import ReceivedRequest
from krino.testing.server import FakeServer, Stats

__all__ = ["FAULT_NAMES", "FEATURES", "FakeServer", "Faults", "ReceivedRequest", "Stats", "example_of"]
