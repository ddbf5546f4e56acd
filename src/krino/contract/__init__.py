"""The contract: what a judge is, what a labeller answers, and what a judgement records.

    case ──study──▶ facts ──ask──▶ questions ──labeller──▶ labels ──settle──▶ verdict

Models label, code scores: a labeller only ever returns labels, and `settle` alone, a pure function,
turns case, facts and labels into the verdict. Every field of it says who decided it and on what evidence.
"""

from krino.contract.bounds import Bound
from krino.contract.hooks import Exhibit, Exhibits, Explainer, Joined, Overview, RecordFields, Reordered
from krino.contract.judge import AnyJudge, AsksInParts, Judge, NoOptions, OptionsT, ReadsRecords
from krino.contract.judgement import (
    LEFT_OUT_IF_EMPTY,
    SCHEMA_VERSION,
    Ballot,
    Finding,
    Judgement,
    RollUp,
    Ruling,
    Settlement,
    Source,
    Status,
    Unread,
    Usage,
    VerdictT,
    hash_record,
    holds_number,
)
from krino.contract.labeller import (
    CaseT,
    FactsT,
    Forecast,
    Labelled,
    Labeller,
    LabelsT,
    Media,
    Passage,
    Questions,
    SoFar,
    Task,
    describe_validation,
)

__all__ = [
    "LEFT_OUT_IF_EMPTY",
    "SCHEMA_VERSION",
    "AnyJudge",
    "AsksInParts",
    "Ballot",
    "Bound",
    "CaseT",
    "Exhibit",
    "Exhibits",
    "Explainer",
    "FactsT",
    "Finding",
    "Forecast",
    "Joined",
    "Judge",
    "Judgement",
    "Labelled",
    "Labeller",
    "LabelsT",
    "Media",
    "NoOptions",
    "OptionsT",
    "Overview",
    "Passage",
    "Questions",
    "ReadsRecords",
    "RecordFields",
    "Reordered",
    "RollUp",
    "Ruling",
    "Settlement",
    "SoFar",
    "Source",
    "Status",
    "Task",
    "Unread",
    "Usage",
    "VerdictT",
    "describe_validation",
    "hash_record",
    "holds_number",
]
