"""Turns the tree of an expression into functions, and checks its types on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from krino.judges.file.cel import operators
from krino.judges.file.cel.faults import BudgetSpent, ExpressionProblem, RuleFault
from krino.judges.file.cel.functions import FUNCTIONS, Function
from krino.judges.file.cel.parse import Node, parse
from krino.judges.file.cel.scope import StepBudget
from krino.judges.file.cel.types import BOOL, DOUBLE, DYN, INT, NULL, STRING, Type, fits, is_comparable, join, list_of
from krino.text.guessing import did_you_mean

Run: TypeAlias = Callable[[StepBudget], Any]
Compiled: TypeAlias = tuple[Type, Run]


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression that is ready: `type` is that of its value, `names` are those that it uses."""

    source: str
    type: Type
    names: frozenset[str]
    functions: frozenset[str]
    _run: Run

    def value(self, budget: StepBudget) -> Any:
        """Returns its value for the names of one case; raises `RuleFault` where it has none."""
        return self._run(budget)


def compile_expression(
    source: str, names: Mapping[str, Type], functions: Mapping[str, Function] = FUNCTIONS
) -> Expression:
    """Compiles an expression and checks its types. Raises `ExpressionProblem` with the place of what is wrong."""
    compiler = _Compiler(names, functions)
    kind, run = compiler.compile(parse(source))
    return Expression(source, kind, frozenset(compiler.used), frozenset(compiler.called), run)


class _Compiler:
    def __init__(self, names: Mapping[str, Type], functions: Mapping[str, Function]) -> None:
        self._names = dict(names)
        self._functions = functions
        self.used: set[str] = set()
        self.called: set[str] = set()

    def compile(self, node: Node) -> Compiled:
        """Compiles a node of the tree with the method for its kind; returns its type and the function."""
        if node.kind in operators.ARITHMETIC:
            return self._arithmetic(node)
        if node.kind in operators.ORDER:
            return self._order(node)
        known: dict[str, Callable[[Node], Compiled]] = {
            "literal": self._literal,
            "name": self._name,
            "select": self._select,
            "has": self._has,
            "index": self._index,
            "call": self._call,
            "method": self._call,
            "macro": self._macro,
            "list": self._list,
            "map": self._map_literal,
            "?:": self._ternary,
            "not": self._not,
            "minus": self._minus,
            "&&": self._logic,
            "||": self._logic,
            "==": self._equality,
            "!=": self._equality,
            "in": self._in,
        }
        return known[node.kind](node)

    # --- values --------------------------------------------------------------------------------------

    def _literal(self, node: Node) -> Compiled:
        value = node.value
        kinds = {bool: BOOL, int: INT, float: DOUBLE, str: STRING, type(None): NULL}
        return kinds[type(value)], lambda budget: value

    def _name(self, node: Node) -> Compiled:
        """Compiles a name: an input, a label or the variable of a macro."""
        name: str = node.value
        if name not in self._names:
            known = sorted(self._names)
            raise ExpressionProblem(
                f"there is no `{name}`{did_you_mean(name, known)}; there are {', '.join(known) or 'no names'}",
                node.offset,
            )
        self.used.add(name)
        return self._names[name], lambda budget: budget.values[name]

    def _list(self, node: Node) -> Compiled:
        """Compiles a list; its element type is what all elements have in common."""
        compiled = [self.compile(part) for part in node.parts]
        item: Type | None = None
        for kind, _ in compiled:
            item = kind if item is None else join(item, kind)
        runs = [run for _, run in compiled]

        def make(budget: StepBudget) -> list[Any]:
            budget.spend(1 + len(runs))
            return [run(budget) for run in runs]

        return list_of(item or DYN), make

    def _map_literal(self, node: Node) -> Compiled:
        """Compiles a map literal, whose keys are texts."""
        compiled = [self.compile(part) for part in node.parts]
        pairs = list(zip(compiled[::2], compiled[1::2], strict=True))
        for (kind, _), part in zip((key for key, _ in pairs), node.parts[::2], strict=True):
            self._must_fit(kind, STRING, part, "a key")
        runs = [(key, value) for (_, key), (_, value) in pairs]

        def make(budget: StepBudget) -> dict[Any, Any]:
            """Builds the map, and refuses a key that occurs twice."""
            budget.spend(1 + len(runs))
            made: dict[Any, Any] = {}
            for key, value in runs:
                name = key(budget)
                if name in made:
                    raise RuleFault(f"an object has two values for {name!r}")
                made[name] = value(budget)
            return made

        return Type("map", DYN), make

    def _select(self, node: Node) -> Compiled:
        """Compiles `object.name`."""
        kind, run = self.compile(node.parts[0])
        name: str = node.value
        if kind.kind not in ("map", "dyn"):
            raise ExpressionProblem(f"{kind.in_words()} has no `.{name}`", node.offset)
        if kind.fields and name not in kind.fields:
            known = list(kind.fields)
            raise ExpressionProblem(
                f"there is no `.{name}`{did_you_mean(name, known)}; there are {', '.join(known)}", node.offset
            )
        return kind.fields.get(name) or kind.item or DYN, lambda budget: operators.select(run(budget), name)

    def _has(self, node: Node) -> Compiled:
        """Compiles `has(object.name)`."""
        kind, run = self.compile(node.parts[0])
        name = node.value
        if kind.kind not in ("map", "dyn"):
            raise ExpressionProblem(f"{kind.in_words()} has no `.{name}`", node.offset)
        return BOOL, lambda budget: operators.has(run(budget), name)

    def _index(self, node: Node) -> Compiled:
        """Compiles `list[number]` or `object[text]`."""
        (kind, run), (place_kind, place) = (self.compile(part) for part in node.parts)
        if kind.kind not in ("list", "map", "dyn"):
            raise ExpressionProblem(f"{kind.in_words()} has no elements", node.offset)
        if kind.kind in ("list", "map"):
            self._must_fit(place_kind, INT if kind.kind == "list" else STRING, node.parts[1], "the index")
        return kind.item or DYN, lambda budget: operators.index(run(budget), place(budget))

    # --- operators -----------------------------------------------------------------------------------

    def _arithmetic(self, node: Node) -> Compiled:
        """Compiles an arithmetic operator, and refuses types that it has no meaning for."""
        (one, run_one), (other, run_other) = (self.compile(part) for part in node.parts)
        sign, operate = node.kind, operators.ARITHMETIC[node.kind]
        if sign == "+" and one.kind in ("string", "list") and other.kind in (one.kind, "dyn"):
            result = STRING if one.kind == "string" else join(one, other)
        elif not (one.is_number and other.is_number) and not (sign == "+" and "dyn" in (one.kind, other.kind)):
            odd = other if one.is_number else one
            raise ExpressionProblem(f"`{sign}` takes numbers, got {odd.in_words()}", node.offset)
        elif sign == "/" and one.kind == other.kind == "int":
            raise ExpressionProblem(
                "`/` between whole numbers drops what is left over; write double(a) / b", node.offset
            )
        elif sign == "%" and "double" in (one.kind, other.kind):
            raise ExpressionProblem("`%` takes whole numbers", node.offset)
        else:
            kinds = {one.kind, other.kind}
            result = DYN if "dyn" in kinds else INT if kinds == {"int"} else DOUBLE
        return result, lambda budget: operate(budget, run_one(budget), run_other(budget))

    def _order(self, node: Node) -> Compiled:
        """Compiles `<`, `<=`, `>` or `>=`."""
        (one, run_one), (other, run_other) = (self.compile(part) for part in node.parts)
        for kind, part in ((one, node.parts[0]), (other, node.parts[1])):
            if not (kind.is_number or kind.kind == "string"):
                raise ExpressionProblem(f"`{node.kind}` compares numbers or texts, got {kind.in_words()}", part.offset)
        if not is_comparable(one, other):
            raise ExpressionProblem(
                f"`{node.kind}` cannot compare {one.in_words()} with {other.in_words()}", node.offset
            )
        compare = operators.ORDER[node.kind]
        return BOOL, lambda budget: compare(run_one(budget), run_other(budget))

    def _equality(self, node: Node) -> Compiled:
        """Compiles `==` or `!=`, and refuses values that can never be equal."""
        (one, run_one), (other, run_other) = (self.compile(part) for part in node.parts)
        if not is_comparable(one, other):
            never = "is never null" if NULL in (one, other) else "and never equal"
            what = (one if other == NULL else other).in_words()
            message = (
                f"{what} {never}"
                if NULL in (one, other)
                else f"{one.in_words()} and {other.in_words()} are compared, {never}"
            )
            raise ExpressionProblem(message, node.offset)
        for kind, part in ((one, node.parts[1]), (other, node.parts[0])):
            self._must_be_a_choice(kind, part)
        if node.kind == "==":
            return BOOL, lambda budget: operators.equal(budget, run_one(budget), run_other(budget))
        return BOOL, lambda budget: not operators.equal(budget, run_one(budget), run_other(budget))

    def _in(self, node: Node) -> Compiled:
        """Compiles `in`, and refuses a list that can never hold the value."""
        (one, run_one), (many, run_many) = (self.compile(part) for part in node.parts)
        if many.kind not in ("list", "map", "dyn"):
            hint = "; for a part of a text write text.contains(part)" if many.kind == "string" else ""
            raise ExpressionProblem(f"`in` looks in a list, got {many.in_words()}{hint}", node.parts[1].offset)
        wanted = STRING if many.kind == "map" else many.item or DYN
        if not is_comparable(one, wanted):
            raise ExpressionProblem(f"{one.in_words()} is never in a list of {wanted.in_words()}", node.offset)
        if many.item is not None:
            self._must_be_a_choice(many.item, node.parts[0])
        if one.choices and node.parts[1].kind == "list":
            for part in node.parts[1].parts:
                self._must_be_a_choice(one, part)
        return BOOL, lambda budget: operators.contains(budget, run_many(budget), run_one(budget))

    def _must_be_a_choice(self, kind: Type, part: Node) -> None:
        """Refuses a text that a label is compared with and cannot have: a slip, and the rule would never hold."""
        if kind.choices and part.kind == "literal" and isinstance(part.value, str) and part.value not in kind.choices:
            raise ExpressionProblem(
                f"{part.value!r} is none of the values{did_you_mean(part.value, kind.choices)}: "
                f"{', '.join(kind.choices)}",
                part.offset,
            )

    def _logic(self, node: Node) -> Compiled:
        """Compiles `&&` or `||`."""
        runs = []
        for part in node.parts:
            kind, run = self.compile(part)
            self._must_fit(kind, BOOL, part, f"`{node.kind}`")
            runs.append(run)
        one, other = runs
        decides = node.kind == "||"

        def decide(budget: StepBudget) -> bool:
            """Decides `&&` or `||`. As in CEL, a side that decides the result makes a fault of the other one
            irrelevant."""
            try:
                if operators.truth(one(budget)) is decides:
                    return decides
            except BudgetSpent:
                raise
            except RuleFault:
                if operators.truth(other(budget)) is decides:
                    return decides
                raise
            return operators.truth(other(budget))

        return BOOL, decide

    def _not(self, node: Node) -> Compiled:
        kind, run = self.compile(node.parts[0])
        self._must_fit(kind, BOOL, node.parts[0], "`!`")
        return BOOL, lambda budget: not operators.truth(run(budget))

    def _minus(self, node: Node) -> Compiled:
        """Compiles a minus sign before a number."""
        kind, run = self.compile(node.parts[0])
        if not kind.is_number:
            raise ExpressionProblem(f"`-` takes a number, got {kind.in_words()}", node.offset)
        return kind, lambda budget: operators.negate(run(budget))

    def _ternary(self, node: Node) -> Compiled:
        """Compiles `condition ? one : other`."""
        (condition, decide), (then, run_then), (other, run_other) = (self.compile(part) for part in node.parts)
        self._must_fit(condition, BOOL, node.parts[0], "the condition before `?`")
        return join(
            then, other
        ), lambda budget: run_then(budget) if operators.truth(decide(budget)) else run_other(budget)

    # --- functions -----------------------------------------------------------------------------------

    def _call(self, node: Node) -> Compiled:
        """Compiles the call of a function or method, and checks its arguments."""
        name: str = node.value
        function = self._functions.get(name)
        if function is None or (node.kind == "method" and not function.is_method):
            known = [other for other, made in self._functions.items() if node.kind == "call" or made.is_method]
            raise ExpressionProblem(
                f"there is no function `{name}`{did_you_mean(name, known)}; there are {', '.join(sorted(known))}",
                node.offset,
            )
        if node.kind == "call" and not function.is_global:
            raise ExpressionProblem(f"write text.{name}(...)", node.offset)
        if len(node.parts) != len(function.parameters):
            raise ExpressionProblem(f"write {function.usage}", node.offset)
        self.called.add(name)
        compiled = [self.compile(part) for part in node.parts]
        for (kind, _), options, part in zip(compiled, function.parameters, node.parts, strict=True):
            if not any(fits(kind, option) for option in options):
                raise ExpressionProblem(
                    f"{function.usage} takes {' or '.join(option.in_words() for option in options)}, got "
                    f"{kind.in_words()}",
                    part.offset,
                )
        function.prepare(node)
        runs, compute, wanted = [run for _, run in compiled], function.compute, function.parameters
        if len(runs) == 1:
            (run,), (options,) = runs, wanted
            return function.result, lambda budget: compute(budget, operators.of_kind(run(budget), options, name))

        def call(budget: StepBudget) -> Any:
            given = [operators.of_kind(run(budget), options, name) for run, options in zip(runs, wanted, strict=True)]
            return compute(budget, *given)

        return function.result, call

    def _macro(self, node: Node) -> Compiled:
        """Compiles a macro such as `list.exists(x, ...)`. Its variable hides an input of the same name inside."""
        kind, run = self.compile(node.parts[0])
        if kind.kind not in ("list", "map", "dyn"):
            raise ExpressionProblem(f".{node.value}() takes a list, got {kind.in_words()}", node.offset)
        name, hidden = node.bound, self._names.get(node.bound)
        self._names[name] = (STRING if kind.kind == "map" else kind.item) or DYN
        was_used = name in self.used
        bodies = []
        for place, part in enumerate(node.parts[1:]):
            body, run_body = self.compile(part)
            if node.value != "map" or place < len(node.parts) - 2:
                self._must_fit(body, BOOL, part, f".{node.value}()")
            bodies.append((body, run_body))
        del self._names[name]
        if hidden is not None:
            self._names[name] = hidden
        if not was_used:
            self.used.discard(name)
        result = {"filter": list_of(kind.item or DYN), "map": list_of(bodies[-1][0])}.get(str(node.value), BOOL)
        steps = node.size
        loop = operators.MACROS[str(node.value)]
        runs = [run_body for _, run_body in bodies]

        def iterate(budget: StepBudget) -> Any:
            """Runs the macro over the elements, and restores the variable afterwards."""
            items = operators.items_of(run(budget), str(node.value))
            values = budget.values
            absent = name not in values
            before = values.get(name)
            try:
                return loop(budget, items, name, steps, *runs)
            finally:
                if absent:
                    values.pop(name, None)
                else:
                    values[name] = before

        return result, iterate

    def _must_fit(self, kind: Type, wanted: Type, part: Node, what: str) -> None:
        if not fits(kind, wanted):
            raise ExpressionProblem(f"{what} takes {wanted.in_words()}, got {kind.in_words()}", part.offset)
