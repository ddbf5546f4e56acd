"""Reads lists and objects as Python prints them: what a table holds whose cells were lists in memory.

Python's own reader is not used: it joins texts without a comma between them, which is how NumPy prints the elements of
an array, and it evaluates more than plain values.
"""

from __future__ import annotations

import re
from typing import Any

LONGEST = 5_000_000
_DEEPEST = 50
_LIST_START = re.compile(
    r"\s*(?:\[\s*(?:b?['\"]|[{\[(]|[A-Za-z_][\w.]*\()"
    r"|(?:(?:np|numpy|pd|collections)\.)?(?:array|deque|frozenset|set|tuple|list|List|Series|Index)\(\s*[\[({'\"]"
    r"|page_content=['\"]|<[\w. ]{1,60} object (?:[\w.<>]{1,60} )?at 0x|[\"']\s*\[\s*\\?['\"])"
)
_ENCLOSED = re.compile(r"\s*(?:\(\s*['\"][\s\S]*['\"]\s*,?\s*\)|\{\s*(?:'[^']*'|\"[^\"]*\")\s*,[\s\S]*['\"]\s*\})\s*\Z")
_BETWEEN = re.compile(r"['\"]\s*,\s*['\"]")
_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<number>[+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+))(?![\w.])"
    r"|(?P<call>[A-Za-z_][\w.]*)\(|(?P<keyword>[A-Za-z_]\w*)\s*=(?!=)|(?P<word>[A-Za-z_]\w*)|(?P<sign>[\[\](){},:]))",
    re.DOTALL,
)
_WORDS = {"None": None, "True": True, "False": False, "nan": None, "NaN": None, "null": None}
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"', "0": "\0", "\n": ""}
_CLOSING = {"[": "]", "(": ")", "{": "}"}


def looks_like_list(text: str) -> bool:
    """Whether a text begins as a printed list of texts or objects does: `['`, `["`, `[{`, `[Document(`, `array([`.

    Of a tuple and a set the end must look so too, for prose may begin with a quotation in parentheses.
    """
    if _LIST_START.match(text) is not None:
        return True
    return text.lstrip()[:1] in ("(", "{") and _ENCLOSED.match(text) is not None and _BETWEEN.search(text) is not None


def parse_python(text: str) -> Any:
    """A list, tuple or dict as Python prints it; an object printed by its constructor is a dict of its arguments.

    Raises `ValueError` for anything else, and where a part is left out (`...`).
    """
    if len(text) > LONGEST:
        raise ValueError(f"a list as text of more than {LONGEST:,} characters")
    reader = _Reader(text)
    value = reader.value(0)
    if reader.at != len(text.rstrip()) or not isinstance(value, list | dict):
        raise ValueError("no list or object as Python prints it")
    return value


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0

    def value(self, depth: int) -> Any:
        """Reads one value."""
        if depth > _DEEPEST:
            raise ValueError("nested too deep")
        found = self._next()
        kind = found.lastgroup
        if kind == "text":
            return _unescape(found["text"][1:-1])
        if kind == "number":
            return float(found["number"]) if re.search(r"[.eE]", found["number"]) else _whole(found["number"])
        if kind == "word" and found["word"] in _WORDS:
            return _WORDS[found["word"]]
        if kind == "call":
            return self._call(depth)
        if kind == "sign" and found["sign"] == "{":
            return self._object(depth)
        if kind == "sign" and found["sign"] in "[(":
            return self._items(_CLOSING[found["sign"]], depth)
        raise ValueError(f"unexpected text at character {found.start() + 1}")

    def _items(self, closing: str, depth: int) -> list[Any]:
        """Reads elements up to the closing sign, with commas between them, or only blanks, as NumPy prints them."""
        items: list[Any] = []
        while not self._takes(closing):
            items.append(self.value(depth + 1))
            self._takes(",")
        return items

    def _object(self, depth: int) -> dict[str, Any]:
        """Reads an object up to its closing brace."""
        fields: dict[str, Any] = {}
        while not self._takes("}"):
            name = self.value(depth + 1)
            if not isinstance(name, str) or name in fields or not self._takes(":"):
                raise ValueError(f"no name of a field, or one twice, at character {self.at + 1}")
            fields[name] = self.value(depth + 1)
            if not self._takes(",") and self._peek("sign") != "}":
                raise ValueError(f"no comma at character {self.at + 1}")
        return fields

    def _call(self, depth: int) -> Any:
        """Reads `Document(page_content='...')` as its arguments, and `array([...], dtype=object)` as its one value."""
        fields: dict[str, Any] = {}
        values: list[Any] = []
        while not self._takes(")"):
            if (name := self._peek("keyword")) is None:
                values.append(self.value(depth + 1))
            else:
                self._next()
                fields[name] = self._next_word() if name == "dtype" else self.value(depth + 1)
            if not self._takes(",") and self._peek("sign") != ")":
                raise ValueError(f"no comma at character {self.at + 1}")
        if len(values) > 1 or (values and (set(fields) - {"dtype"} or not isinstance(values[0], list))):
            raise ValueError("an object printed with arguments that have no names")
        return values[0] if values else fields

    def _next_word(self) -> str:
        found = self._next()
        return found.group().strip()

    def _next(self) -> re.Match[str]:
        """Returns the next token and moves on."""
        found = _TOKEN.match(self._text, self.at)
        if found is None:
            raise ValueError(f"unexpected text at character {self.at + 1}")
        self.at = found.end()
        return found

    def _peek(self, kind: str) -> str | None:
        """The next token if it is of this kind, else None; does not move on."""
        found = _TOKEN.match(self._text, self.at)
        return found[kind] if found is not None and found.lastgroup == kind else None

    def _takes(self, sign: str) -> bool:
        """Moves past a sign if it is the next token, and returns whether it was."""
        if self._peek("sign") != sign:
            return False
        self._next()
        return True


def _whole(digits: str) -> int:
    if len(digits) > 20:
        raise ValueError("a number of more than 20 digits")
    return int(digits)


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_decode_escape, text) if "\\" in text else text


def _decode_escape(found: re.Match[str]) -> str:
    """Returns the character of an escape."""
    code = found[1]
    if len(code) > 1:
        point = int(code[1:], 16)
        if point > 0x10FFFF:
            raise ValueError("no character has this number")
        return chr(point)
    return _ESCAPED.get(code, found[0])
