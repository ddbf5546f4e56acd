"""Builds the tree of an expression from its tokens, by the grammar of CEL."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from krino.judges.file.cel.faults import ExpressionProblem
from krino.judges.file.cel.tokens import RESERVED, Token, read_tokens

DEEPEST = 40
"""Levels of a tree, so that reading and evaluating it never runs out of stack."""
MACROS = frozenset({"all", "exists", "exists_one", "filter", "map"})


@dataclass(slots=True)
class Node:
    """One operation. `kind`: literal, name, select, has, index, call, method, macro, list, map, `?:` or an operator."""

    kind: str
    offset: int
    parts: tuple[Node, ...] = ()
    value: Any = None
    """The value of a literal; the name of a name, selection, call or macro."""
    bound: str = ""
    """The variable of a macro, which names the element."""
    depth: int = field(init=False)
    size: int = field(init=False)

    def __post_init__(self) -> None:
        self.depth = 1 + max((part.depth for part in self.parts), default=0)
        self.size = 1 + sum(part.size for part in self.parts)
        if self.depth > DEEPEST:
            raise ExpressionProblem(f"the expression is nested deeper than {DEEPEST} levels", self.offset)


_LEVELS = (("||",), ("&&",), ("<", "<=", ">=", ">", "==", "!=", "in"), ("+", "-"), ("*", "/", "%"))


def parse(source: str) -> Node:
    """Returns the tree of an expression; raises `ExpressionProblem` with the place of what does not fit."""
    if not source.strip():
        raise ExpressionProblem("the expression is empty", 0)
    return _Parser(read_tokens(source)).whole()


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._place = 0
        self._open = 0

    def whole(self) -> Node:
        """Returns the tree of the whole expression."""
        tree = self._expression()
        if self._next.kind != "end":
            raise self._unexpected()
        return tree

    @property
    def _next(self) -> Token:
        return self._tokens[self._place]

    def _take(self) -> Token:
        token = self._next
        self._place += 1
        return token

    def _is(self, *signs: str) -> bool:
        return self._next.kind in ("sign", "name") and self._next.value in signs

    def _want(self, sign: str) -> Token:
        if not self._is(sign):
            raise self._unexpected(f"`{sign}`")
        return self._take()

    def _unexpected(self, wanted: str = "") -> ExpressionProblem:
        """Returns the error for the next token, with a hint where the mistake is a common one."""
        token = self._next
        what = "the expression ends here" if token.kind == "end" else f"`{token.value}` cannot stand here"
        hint = f"; {wanted} is missing" if wanted else ""
        if token.kind == "name" and token.value in ("and", "or", "not"):
            hint = f"; write {dict(zip(('and', 'or', 'not'), ('&&', '||', '!'), strict=True))[str(token.value)]}"
        return ExpressionProblem(f"{what}{hint}", token.offset)

    def _expression(self) -> Node:
        """Parses an expression, with `? :`; refuses one that is nested too deeply."""
        self._open += 1
        if self._open > DEEPEST:
            raise ExpressionProblem(f"the expression is nested deeper than {DEEPEST} levels", self._next.offset)
        condition = self._binary(0)
        if self._is("?"):
            offset = self._take().offset
            then = self._binary(0)
            self._want(":")
            condition = Node("?:", offset, (condition, then, self._expression()))
        self._open -= 1
        return condition

    def _binary(self, level: int) -> Node:
        """Parses the binary operators of one level of precedence, from left to right."""
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while self._is(*_LEVELS[level]):
            sign = self._take()
            left = Node(str(sign.value), sign.offset, (left, self._binary(level + 1)))
        return left

    def _unary(self) -> Node:
        """Parses signs before a value; a minus before a number becomes part of the number."""
        signs: list[Token] = []
        while self._is("!") or self._is("-"):
            if signs and signs[0].value != self._next.value:
                raise ExpressionProblem("write parentheses between ! and -", self._next.offset)
            signs.append(self._take())
        node = self._member()
        for sign in reversed(signs):
            if sign.value == "-" and node.kind == "literal" and type(node.value) in (int, float):
                node = Node("literal", sign.offset, (), -node.value)
            else:
                node = Node("not" if sign.value == "!" else "minus", sign.offset, (node,))
        return node

    def _member(self) -> Node:
        """Parses a value with the fields, elements and methods after it."""
        node = self._primary()
        while self._is(".", "["):
            sign = self._take()
            if sign.value == "[":
                node = Node("index", sign.offset, (node, self._expression()))
                self._want("]")
                continue
            if self._next.kind != "name":
                raise self._unexpected("a name")
            name = self._take()
            is_call = self._is("(")
            node = self._method(node, name) if is_call else Node("select", name.offset, (node,), name.value)
        return node

    def _method(self, target: Node, name: Token) -> Node:
        """Parses the call of a method or macro."""
        arguments = self._arguments()
        if name.value not in MACROS:
            return Node("method", name.offset, (target, *arguments), name.value)
        wanted = (2, 3) if name.value == "map" else (2,)
        if len(arguments) not in wanted or arguments[0].kind != "name":
            raise ExpressionProblem(
                f"write {name.value}(x, EXPRESSION), x being your name for the element", name.offset
            )
        return Node("macro", name.offset, (target, *arguments[1:]), name.value, str(arguments[0].value))

    def _arguments(self) -> tuple[Node, ...]:
        self._want("(")
        return self._parse_list(")")

    def _parse_list(self, closing: str) -> tuple[Node, ...]:
        """Parses values, separated by commas, up to a closing bracket; a list may end with a comma, a call may not."""
        items: list[Node] = []
        while not self._is(closing):
            items.append(self._expression())
            if not self._is(closing):
                self._want(",")
                if self._is(closing) and closing == ")":
                    raise self._unexpected("a value")
        self._take()
        return tuple(items)

    def _primary(self) -> Node:
        """Parses a literal, a name, a list, an object, or an expression in brackets."""
        token = self._next
        if token.kind in ("int", "float", "text"):
            return Node("literal", self._take().offset, (), token.value)
        if token.kind == "name":
            return self._named()
        if self._is("("):
            self._take()
            node = self._expression()
            self._want(")")
            return node
        if self._is("["):
            self._take()
            return Node("list", token.offset, self._parse_list("]"))
        if self._is("{"):
            return self._object()
        raise self._unexpected("a value")

    def _named(self) -> Node:
        """Parses what begins with a name: a constant, a name, a call or `has`."""
        token = self._take()
        name = str(token.value)
        constants = {"true": True, "false": False, "null": None}
        if name in constants:
            return Node("literal", token.offset, (), constants[name])
        if name in RESERVED or name == "in":
            raise ExpressionProblem(f"`{name}` is a reserved word of CEL and no name", token.offset)
        if not self._is("("):
            return Node("name", token.offset, (), name)
        arguments = self._arguments()
        if name != "has":
            return Node("call", token.offset, arguments, name)
        if len(arguments) != 1 or arguments[0].kind != "select":
            raise ExpressionProblem("write has(object.name)", token.offset)
        return Node("has", token.offset, arguments[0].parts, arguments[0].value)

    def _object(self) -> Node:
        """Parses an object."""
        offset = self._want("{").offset
        parts: list[Node] = []
        while not self._is("}"):
            parts.append(self._expression())
            self._want(":")
            parts.append(self._expression())
            if not self._is("}"):
                self._want(",")
        self._take()
        return Node("map", offset, tuple(parts))
