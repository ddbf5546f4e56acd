"""Cuts an expression into tokens."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from krino.judges.file.cel.faults import ExpressionProblem

LONGEST = 2_000
"""Characters of one expression."""
RESERVED = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
_TOKEN = re.compile(
    r"(?P<space>\s+|//[^\n]*)"
    r"|(?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)"
    r"|(?P<int>0x[0-9a-fA-F]+|\d+)"
    r"|(?P<quote>[rR]?(?:\"\"\"|'''|\"|'))"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<sign>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}])"
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_HINTS = {
    "=": "write == to compare",
    "&": "write && for and",
    "|": "write || for or",
    "\u201c": "write plain quotation marks",
    "\u2019": "write plain quotation marks",
}
_MOST_WHOLE = 2**63 - 1
_LAST_CHARACTER = 0x10FFFF


class Token(NamedTuple):
    kind: Literal["float", "int", "text", "name", "sign", "end"]
    value: str | int | float
    offset: int


def read_tokens(source: str) -> list[Token]:
    """Returns the tokens of an expression and an `end`.

    Raises `ExpressionProblem` at the first character that fits nowhere.
    """
    if len(source) > LONGEST:
        raise ExpressionProblem(f"the expression has {len(source):,} characters; {LONGEST:,} at most", 0)
    tokens: list[Token] = []
    place = 0
    while place < len(source):
        found = _TOKEN.match(source, place)
        if found is None:
            hint = _HINTS.get(source[place], "")
            raise ExpressionProblem(f"{source[place]!r} cannot stand here{'; ' * bool(hint)}{hint}", place)
        kind, text = found.lastgroup, found.group()
        start, place = place, found.end()
        if kind == "quote":
            value, place = _read_text(source, start, text)
            tokens.append(Token("text", value, start))
        elif kind == "int":
            tokens.append(Token("int", _parse_whole(text, start), start))
        elif kind == "float":
            tokens.append(Token("float", float(text), start))
        elif kind in ("name", "sign"):
            tokens.append(Token(kind, text, start))  # type: ignore[arg-type]
        if kind in ("int", "float") and place < len(source) and (source[place].isalnum() or source[place] == "_"):
            raise ExpressionProblem(f"{source[start : place + 1]!r} is no number", start)
    tokens.append(Token("end", "", len(source)))
    return tokens


def _parse_whole(text: str, start: int) -> int:
    """Parses a whole number, decimal or hexadecimal; refuses one of more than 64 bits."""
    value = int(text, 16) if text.startswith("0x") else int(text)
    if value > _MOST_WHOLE:
        raise ExpressionProblem("the number is too large; write it with a decimal point", start)
    return value


def _read_text(source: str, start: int, opening: str) -> tuple[str, int]:
    """Returns the text of a literal, escapes replaced, and where the literal ends."""
    raw, quote = opening[0] in "rR", opening.lstrip("rR")
    begin = place = start + len(opening)
    while not source.startswith(quote, place):
        if place >= len(source) or (len(quote) == 1 and source[place] == "\n"):
            raise ExpressionProblem(f"the text has no closing {quote}", start)
        place += 2 if source[place] == "\\" and not raw else 1
    inside = source[begin:place]
    return (inside if raw else _unescape(inside, begin)), place + len(quote)


def _unescape(text: str, offset: int) -> str:
    """Replaces the escapes of a text; refuses those that mean no character."""

    def replaced(found: re.Match[str]) -> str:
        """Returns the character of one escape."""
        octal, plain = found.group(4), found.group(5)
        code = next((int(part, 16) for part in found.groups()[:3] if part), int(octal, 8) if octal else None)
        if code is not None:
            if code > _LAST_CHARACTER or 0xD800 <= code <= 0xDFFF:
                raise ExpressionProblem(f"{found.group()} is no character", offset + found.start())
            return chr(code)
        if plain in _PLAIN:
            return _PLAIN[plain]
        if plain in "\\'\"`?":
            return plain
        raise ExpressionProblem(
            f"{found.group()} is no escape; write r'...' for a text in which \\ stands for itself",
            offset + found.start(),
        )

    return _ESCAPE.sub(replaced, text)
