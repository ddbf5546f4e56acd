"""The functions that rules may call: those of CEL for texts and numbers, counts, and facts that need no key."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from krino.judges.file.cel.faults import ExpressionProblem, RuleFault
from krino.judges.file.cel.operators import is_number, name_of
from krino.judges.file.cel.scope import StepBudget
from krino.judges.file.cel.types import BOOL, DOUBLE, DYN, INT, NULL, STRING, Type, list_of, map_of

if TYPE_CHECKING:
    from krino.judges.file.cel.parse import Node

_SENTENCE = re.compile(r"[^.!?…\n]+[.!?…]*")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_MODEL_STEPS = 2_000
"""What a look by an embedded model costs of the budget: a rule may ask for a hundred of them, not for a million."""
_LONGEST_NUMBER = 40
_MOST_SENTENCES = 30
"""A refusal is short: what comes after so many sentences does not make one."""
_REFUSALS = ("I cannot answer or help.", "I decline to help with this request.")
_PLAINLY, _AGREES, _STATES = 0.35, 0.6, 0.5
"""Probabilities: that a sentence is a refusal by its role, that it entails one of the above, that it states something.
High ones: a refusal that is missed costs a call, one that is invented gives a wrong verdict without one."""


def _anything(node: Node) -> None:
    """Most functions take whatever has the right type."""


@dataclass(frozen=True, slots=True)
class Function:
    """`parameters`: for each the types that it may have. `files`: what it computes with, as paths below `krino`."""

    usage: str
    parameters: tuple[tuple[Type, ...], ...]
    result: Type
    compute: Callable[..., Any]
    about: str = ""
    is_method: bool = False
    is_global: bool = True
    prepare: Callable[[Node], None] = _anything
    """Looks at a call before it is used, for mistakes that types do not show."""
    files: tuple[str, ...] = field(default=())


# --- of CEL ------------------------------------------------------------------------------------------


def _size(budget: StepBudget, value: Any) -> int:
    return len(value)


def _contains(budget: StepBudget, text: str, part: str) -> bool:
    budget.read(text)
    return part in text


def _starts_with(budget: StepBudget, text: str, part: str) -> bool:
    return text.startswith(part)


def _ends_with(budget: StepBudget, text: str, part: str) -> bool:
    return text.endswith(part)


def _lower_ascii(budget: StepBudget, text: str) -> str:
    budget.build(len(text))
    return text.translate(_LOWER)


def _upper_ascii(budget: StepBudget, text: str) -> str:
    budget.build(len(text))
    return text.translate(_UPPER)


_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}


def _trim(budget: StepBudget, text: str) -> str:
    budget.build(len(text))
    return text.strip()


def _to_int(budget: StepBudget, value: Any) -> int:
    """Converts a value to a whole number of 64 bits; raises `RuleFault` if it is none."""
    try:
        made = int(value.strip()) if isinstance(value, str) and len(value) < _LONGEST_NUMBER else int(value)
    except (ValueError, OverflowError):
        raise RuleFault(f"int() makes no whole number of {value!r:.60}") from None
    if not -(2**63) <= made < 2**63:
        raise RuleFault("a whole number is too large")
    return made


def _to_double(budget: StepBudget, value: Any) -> float:
    """Converts a value to a number; raises `RuleFault` if it is none."""
    try:
        return float(value)
    except (ValueError, OverflowError):
        raise RuleFault(f"double() makes no number of {value!r:.60}") from None


def _to_string(budget: StepBudget, value: Any) -> str:
    """Converts a value to text, as CEL writes it."""
    if type(value) is bool:
        return "true" if value else "false"
    budget.build(len(value) if isinstance(value, str) else 1)
    return str(value)


# --- regular expressions -----------------------------------------------------------------------------

_PATTERN_BYTES = 1 << 20
_LONGEST_PATTERN = 500
_STEPS_A_MATCH = 5
"""As much time as five other steps take."""


@lru_cache(maxsize=512)
def _compile_pattern(source: str) -> Any:
    """Compiles a regular expression with RE2; raises `RuleFault` if it is wrong or too long.

    RE2 needs time that grows with the text and no faster, whatever the pattern; and bounded memory.
    """
    import re2  # type: ignore[import-untyped, unused-ignore]

    if len(source) > _LONGEST_PATTERN:
        raise RuleFault(f"a regular expression of {len(source):,} characters; {_LONGEST_PATTERN} at most")
    options = re2.Options()
    options.max_mem = _PATTERN_BYTES
    options.log_errors = False
    try:
        return re2.compile(source, options)
    except re2.error as error:
        raise RuleFault(f"the regular expression {source!r:.80} is wrong: {_words_of(error)}") from None


def _words_of(error: Exception) -> str:
    reason = error.args[0] if error.args else error
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)


def _check_pattern(node: Node) -> None:
    """Compiles a pattern that is written in the rule, so that a mistake in it is reported before any case."""
    part = node.parts[1]
    if part.kind == "literal" and isinstance(part.value, str):
        try:
            _compile_pattern(part.value)
        except RuleFault as fault:
            raise ExpressionProblem(str(fault), part.offset) from None


def _ready_pattern(budget: StepBudget, text: str, source: str) -> Any:
    """A search takes at most as many steps as the text has characters times the program of the pattern."""
    pattern = _compile_pattern(source)
    budget.spend(1 + len(text) * (10 + pattern.programsize) // 500)
    return pattern


def _matches(budget: StepBudget, text: str, pattern: str) -> bool:
    return _ready_pattern(budget, text, pattern).search(_encodable(text)) is not None


def _count_matches(budget: StepBudget, text: str, pattern: str) -> int:
    """Counts the matches that do not overlap, empty ones left out."""
    count = 0
    for found in _ready_pattern(budget, text, pattern).finditer(_encodable(text)):
        budget.spend(_STEPS_A_MATCH)
        count += found.end() > found.start()
    return count


def _encodable(text: str) -> str:
    from krino.text.clean import sound

    return sound(text)


# --- counts and sums ---------------------------------------------------------------------------------


def _words(budget: StepBudget, text: str) -> int:
    budget.spend(1 + len(text) // 8)
    return sum(1 for _ in _WORD.finditer(text))


def _lines(budget: StepBudget, text: str) -> int:
    budget.read(text)
    return sum(1 for line in text.splitlines() if line.strip())


def _is_blank(budget: StepBudget, text: str | None) -> bool:
    """Is a text empty for a reader? Also an optional input that the case does not have."""
    from krino.text.forms import is_blank

    budget.read(text or "")
    return text is None or is_blank(text)


def _require_numbers(budget: StepBudget, values: Sequence[Any], name: str) -> Sequence[float]:
    """Returns the values if all are numbers, else raises `RuleFault`; they cost one step each."""
    budget.spend(1 + len(values))
    odd = next((value for value in values if not is_number(value)), 0)
    if not is_number(odd):
        raise RuleFault(f"{name}() takes numbers, got {name_of(odd)}")
    return values


def _sum(budget: StepBudget, values: Sequence[Any]) -> float:
    return float(sum(_require_numbers(budget, values, "sum")))


def _refuse_empty(
    name: str, compute: Callable[[Sequence[float]], float]
) -> Callable[[StepBudget, Sequence[Any]], float]:
    """Returns a function that computes a figure of a list, and raises `RuleFault` for an empty one."""

    def computed(budget: StepBudget, values: Sequence[Any]) -> float:
        if not _require_numbers(budget, values, name):
            raise RuleFault(f"{name}() of an empty list")
        return float(compute(values))

    return computed


def _round(budget: StepBudget, value: float, digits: int) -> float:
    return round(float(value), max(0, min(digits, 12)))


# --- facts without a key -----------------------------------------------------------------------------


def _measure_support(budget: StepBudget, text: str, claim: str) -> float:
    """Returns the probability that a text supports a claim, by the entailment model."""
    from krino.models.entailment import entail

    budget.spend(_MODEL_STEPS)
    (found,) = entail([(text, claim)])
    return round(found.supported, 4)


def _measure_similarity(budget: StepBudget, one: str, other: str) -> float:
    """Returns how near two texts are in meaning, from 0 to 1."""
    from krino.models.embedder import embed

    budget.spend(_MODEL_STEPS)
    first, second = embed([one, other])
    return round(max(0.0, min(1.0, float(first @ second))), 4)


def _is_refusal(budget: StepBudget, text: str) -> bool:
    """Is a text a refusal by the embedded models: does a sentence decline, and every other one state nothing?"""
    from krino.models.entailment import ROLES, RoleInput, entail, roles

    budget.spend(2 * _MODEL_STEPS + len(text) // 4)
    found = (sentence.group().strip() for sentence in _SENTENCE.finditer(text))
    texts = list(islice((sentence for sentence in found if sentence), _MOST_SENTENCES))
    if not texts:
        return False
    around = zip(["", *texts], texts, [*texts[1:], ""], strict=False)
    shares = roles([RoleInput(*three) for three in around])
    said = iter(entail([(sentence, refusal) for sentence in texts for refusal in _REFUSALS]))
    agreed = [max(next(said).supported for _ in _REFUSALS) for _ in texts]
    refusing, claiming = ROLES.index("refusal"), ROLES.index("claim")
    declines = [share[refusing] >= _PLAINLY or agrees >= _AGREES for share, agrees in zip(shares, agreed, strict=True)]
    states = [share[claiming] >= _STATES and not gone for share, gone in zip(shares, declines, strict=True)]
    return any(declines) and not any(states)


def _guess_language(budget: StepBudget, text: str) -> str:
    """Returns the language code of a text, or an empty text if it is not known."""
    from krino.text.language import guess_language

    budget.spend(_MODEL_STEPS // 10)
    return guess_language(text) or ""


# --- JSON --------------------------------------------------------------------------------------------

_LONGEST_JSON = 200_000


def _parse_short_json(budget: StepBudget, text: str) -> Any:
    """Parses JSON; raises `RuleFault` for a text that is too long, and `ValueError` for one that is no JSON."""
    import orjson

    budget.spend(1 + len(text) // 8)
    if len(text) > _LONGEST_JSON:
        raise RuleFault(f"a JSON text of {len(text):,} characters; {_LONGEST_JSON:,} at most")
    return orjson.loads(text.encode("utf-8", "replace"))


def _is_json(budget: StepBudget, text: str) -> bool:
    """Does a text parse as JSON?"""
    try:
        _parse_short_json(budget, text)
    except ValueError:
        return False
    return True


def _parse_json(budget: StepBudget, text: str) -> Any:
    """Parses JSON; raises `RuleFault` for a text that is none."""
    try:
        return _parse_short_json(budget, text)
    except ValueError as error:
        raise RuleFault(f"json() of a text that is no JSON: {error}") from None


_TEXT = (STRING,)
_TEXT_AND_PATTERN = (_TEXT, _TEXT)
_NUMBERS = ((list_of(DOUBLE),),)
_MODELS = ("models",)

FUNCTIONS: Mapping[str, Function] = {
    "size": Function(
        "size(x)", ((STRING, list_of(DYN), map_of(DYN)),), INT, _size, "characters or elements", is_method=True
    ),
    "contains": Function("text.contains(part)", (_TEXT, _TEXT), BOOL, _contains, "", is_method=True, is_global=False),
    "startsWith": Function(
        "text.startsWith(part)", (_TEXT, _TEXT), BOOL, _starts_with, "", is_method=True, is_global=False
    ),
    "endsWith": Function("text.endsWith(part)", (_TEXT, _TEXT), BOOL, _ends_with, "", is_method=True, is_global=False),
    "lowerAscii": Function("text.lowerAscii()", (_TEXT,), STRING, _lower_ascii, "", is_method=True, is_global=False),
    "upperAscii": Function("text.upperAscii()", (_TEXT,), STRING, _upper_ascii, "", is_method=True, is_global=False),
    "trim": Function("text.trim()", (_TEXT,), STRING, _trim, "", is_method=True, is_global=False),
    "int": Function("int(x)", ((INT, DOUBLE, STRING),), INT, _to_int),
    "double": Function("double(x)", ((DOUBLE, STRING),), DOUBLE, _to_double),
    "string": Function("string(x)", ((STRING, INT, BOOL),), STRING, _to_string),
    "matches": Function(
        "text.matches(pattern)",
        _TEXT_AND_PATTERN,
        BOOL,
        _matches,
        "whether a regular expression (RE2) occurs in a text",
        is_method=True,
        prepare=_check_pattern,
    ),
    "count": Function(
        "count(text, pattern)",
        _TEXT_AND_PATTERN,
        INT,
        _count_matches,
        "how many times it occurs",
        prepare=_check_pattern,
    ),
    "words": Function("words(text)", (_TEXT,), INT, _words, "words of a text"),
    "lines": Function("lines(text)", (_TEXT,), INT, _lines, "lines that are not blank"),
    "is_blank": Function("is_blank(text)", ((STRING, NULL),), BOOL, _is_blank, "whether there is nothing to see"),
    "sum": Function("sum(numbers)", _NUMBERS, DOUBLE, _sum, "0 for an empty list"),
    "mean": Function(
        "mean(numbers)", _NUMBERS, DOUBLE, _refuse_empty("mean", lambda values: sum(values) / len(values))
    ),
    "min": Function("min(numbers)", _NUMBERS, DOUBLE, _refuse_empty("min", min)),
    "max": Function("max(numbers)", _NUMBERS, DOUBLE, _refuse_empty("max", max)),
    "round": Function("round(number, digits)", ((DOUBLE,), (INT,)), DOUBLE, _round),
    "supports": Function(
        "supports(text, claim)",
        (_TEXT, _TEXT),
        DOUBLE,
        _measure_support,
        "probability that a text supports a claim, by the embedded model",
        files=_MODELS,
    ),
    "similarity": Function(
        "similarity(a, b)",
        (_TEXT, _TEXT),
        DOUBLE,
        _measure_similarity,
        "nearness in meaning from 0 to 1, by the embedded model (English)",
        files=_MODELS,
    ),
    "is_refusal": Function(
        "is_refusal(text)",
        (_TEXT,),
        BOOL,
        _is_refusal,
        "whether a text does nothing but decline, by the embedded models",
        files=_MODELS,
    ),
    "language": Function(
        "language(text)", (_TEXT,), STRING, _guess_language, "code of the language; empty if in doubt"
    ),
    "is_json": Function("is_json(text)", (_TEXT,), BOOL, _is_json, "whether a text is JSON"),
    "json": Function("json(text)", (_TEXT,), DYN, _parse_json, "the value of a JSON text"),
}
