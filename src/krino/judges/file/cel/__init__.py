"""CEL, the Common Expression Language of rules: read, checked against types, and evaluated within a budget.

It is the part of CEL that rules need. An expression that is accepted here and by Google's implementation has the
same value in both (`tests/judges/file/test_cel_conformance.py`). Two things differ on purpose: whole numbers and
decimals may be mixed (`score < 1`), and a whole number is never silently divided by another. No CEL package bounds the
memory that an expression takes, and two of three do not bound its time; here every step and copied character counts.
"""

from krino.judges.file.cel.compile import Expression, compile_expression
from krino.judges.file.cel.faults import ExpressionProblem, RuleFault
from krino.judges.file.cel.scope import StepBudget
from krino.judges.file.cel.types import BOOL, DOUBLE, DYN, INT, NULL, STRING, Type, list_of, map_of, one_of, record

__all__ = [
    "BOOL",
    "DOUBLE",
    "DYN",
    "INT",
    "NULL",
    "STRING",
    "Expression",
    "ExpressionProblem",
    "RuleFault",
    "StepBudget",
    "Type",
    "compile_expression",
    "list_of",
    "map_of",
    "one_of",
    "record",
]
