"""The efficiency judge: every step of an agent's trace labelled, one published table from labels to score."""

from krino.judges.efficiency.judge import EfficiencyJudge
from krino.judges.efficiency.traces.detect import split_traces

__all__ = ["EfficiencyJudge", "split_traces"]
