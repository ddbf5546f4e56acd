"""What our reader of CEL accepts has the value that Google's implementation gives it."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from krino.judges.file.cel import (
    BOOL,
    DOUBLE,
    DYN,
    INT,
    STRING,
    ExpressionProblem,
    RuleFault,
    StepBudget,
    compile_expression,
    list_of,
)

cel: Any = pytest.importorskip("cel_expr_python.cel", reason="Google's implementation is not installed")

NAMES = {"t": STRING, "n": INT, "x": DOUBLE, "b": BOOL, "words": list_of(STRING), "d": DYN}
VALUES: dict[str, Any] = {
    "t": "Thank you, José! 🙂",
    "n": 3,
    "x": 0.5,
    "b": True,
    "words": ["a", "bb", "a"],
    "d": {"a": None, "b": 1, "c": [1, 2.5, "z"], "e": {"f": "g"}},
}
MATTERS = [
    "1 + 2 * 3 - 4",
    "-7 % 3",
    "7 % -3",
    "2.0 * x + 1.5",
    "'a' + \"b\" + r'\\n'",
    "'\\u00e9\\n\\x41\\101'",
    "t == 'x' || b && !b",
    "b ? n : 0",
    "n in [1, 2, 3]",
    "'e' in d",
    "size(t) + t.size() + size(words)",
    "t.contains('Jos') && t.startsWith('Thank') && t.endsWith('🙂')",
    "t.matches('(?i)THANK')",
    "matches(t, '^you')",
    "words.all(w, w.size() < 3)",
    "words.exists(w, w == 'bb')",
    "words.exists_one(w, w == 'bb')",
    "words.exists_one(w, w == 'a')",
    "words.filter(w, w != 'a')",
    "words.map(w, w + '!')",
    "words.map(w, w != 'a', size(w))",
    "words[1] + words[0]",
    "has(d.a) && !has(d.zz) && has(d.e.f)",
    "d.a == null",
    "d.b == 1",
    "d.b == 1.0",
    "d.c[1] > 2.0",
    "d.zz == 1 || true",
    "false && d.zz == 1",
    "d.zz == 1 && false",
    "[1, 2].exists(i, 1 % (i - 1) == 0 || true)",
    "[1, 2].all(i, 1 % (i - 1) == 5)",
    "[0, 1].exists(i, 1 % i == 0)",
    "{'a': 1, 'b': n}['b']",
    "{'a': 1}.exists(k, k == 'a')",
    "d.map(k, k).size()",
    "[1, 2] == [1, 2]",
    "[1, 2] + [3]",
    "{'a': [1]} == {'a': [1]}",
    "'a' < 'b' && 'B' < 'a' && 'é' > 'z'",
    "int('42') + int(3.9) + int(-3.9)",
    "double('1.5') + double(2)",
    "string(5) + string(true)",
    "0x1F == 31",
    "1e3 == 1000.0",
    "x == 0.5 // a comment",
    "!!b",
    "--n",
    "-(-n)",
    "9223372036854775807 - 1",
]
FAULTS = ["d.zz", "words[7]", "words[-1]", "d.b.c", "n % 0", "9223372036854775807 + n", "int('x')", "{'a': 1, 'a': 2}"]


@pytest.fixture(scope="module")
def reference() -> Any:
    types = {
        "t": cel.Type.STRING,
        "n": cel.Type.INT,
        "x": cel.Type.DOUBLE,
        "b": cel.Type.BOOL,
        "words": cel.Type.List(cel.Type.STRING),
        "d": cel.Type.DYN,
    }
    return cel.NewEnv(variables=types)


def ours(source: str) -> Any:
    return compile_expression(source, NAMES).value(StepBudget(dict(VALUES)))


def theirs(reference: Any, source: str) -> Any:
    """Raises `ValueError` where the expression has no value."""
    found = reference.compile(source).eval(data=VALUES)
    if found.type() == cel.Type.ERROR:
        raise ValueError(found.value())
    return found.plain_value()


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other) or (math.isnan(one) and math.isnan(other))
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and bool(one == other)


@pytest.mark.parametrize("source", MATTERS)
def test_an_expression_has_the_value_that_google_gives_it(reference: Any, source: str) -> None:
    assert same(ours(source), theirs(reference, source))


@pytest.mark.parametrize("source", FAULTS)
def test_an_expression_without_a_value_has_none_there_either(reference: Any, source: str) -> None:
    with pytest.raises(RuleFault):
        ours(source)
    with pytest.raises((ValueError, RuntimeError)):
        theirs(reference, source)


ATOMS = [
    "1",
    "2",
    "0",
    "n",
    "x",
    "0.5",
    "t",
    "'a'",
    "'bb'",
    "b",
    "true",
    "false",
    "words",
    "d",
    "d.b",
    "d.c",
    "[1]",
    "null",
    "w",
]
SHAPES = [
    *("{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} % {1}", "{0} < {1}", "{0} >= {1}", "{0} == {1}", "{0} != {1}"),
    *("{0} && {1}", "{0} || {1}", "!{0}", "-{0}", "{0} ? {1} : {2}", "{0} in {1}", "size({0})", "{0}.size()"),
    *("({0})", "{0}[{1}]", "[{0}, {1}]", "{0}.contains({1})", "{0}.all(w, {1})", "{0}.exists(w, {1})"),
    *(
        "{0}.filter(w, {1})",
        "{0}.map(w, {1})",
        "has(d.{2})",
        "{0}.startsWith({1})",
        "string({0})",
        "int({0})",
        "{{'a': {0}}}",
    ),
]


def made_up(draw: random.Random, depth: int = 0) -> str:
    if depth > 3 or draw.random() < 0.25:
        return draw.choice(ATOMS)
    shape = draw.choice(SHAPES)
    parts = [made_up(draw, depth + 1) for _ in range(3)]
    if shape.startswith("has("):
        parts[2] = draw.choice("abcz")
    return shape.format(*parts)


def test_made_up_expressions_agree(reference: Any) -> None:
    """Whatever both accept and give a value."""
    draw = random.Random(7)
    compared = 0
    for _ in range(20_000):
        source = made_up(draw)
        try:
            mine = ours(source)
        except (ExpressionProblem, RuleFault):
            continue
        try:
            other = theirs(reference, source)
        except (RuntimeError, ValueError):  # numbers of both kinds may be mixed here, and not there
            continue
        if "d.map" in source or "d.filter" in source or "'a': " in source or "(d)." in source:
            continue  # the order of the keys of an object is not laid down
        compared += 1
        assert same(mine, other), f"{source}: {mine!r} here, {other!r} there"
    assert compared > 1_000
