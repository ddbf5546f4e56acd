"""Takes values of known kinds out of a front matter, and notes what is not of that kind."""

from __future__ import annotations

import re
from collections.abc import Collection

from pydantic import BaseModel

from krino.judges.file.front_matter import Value
from krino.judges.file.problems import Place, Problem
from krino.text.guessing import did_you_mean

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_LONGEST_TEXT = 4_000


class Reader:
    """Collects problems; every method returns something usable, so that reading goes on."""

    def __init__(self, values: Value, problems: list[Problem]) -> None:
        self.values = values
        self.problems = problems

    def problem(self, place: Place, text: str) -> None:
        """Notes a mistake with which the file cannot be used."""
        self.problems.append(Problem(place, text))

    def warn(self, place: Place, text: str) -> None:
        """Notes something worth a second look; the file can be used."""
        self.problems.append(Problem(place, text, fatal=False))

    def refuse_unknown(self, value: Value, known: Collection[str], where: str) -> None:
        """Notes keys that are not known, with a guess at what was meant."""
        for name, place in value.keys.items():
            if name in known:
                continue
            if " " in name and value.data[name].data is None:
                self.problem(place, f"`{name}` stands alone: put a text with a comma between quotation marks")
            else:
                self.problem(place, f"{where} has no `{name}`{did_you_mean(name, known)}; it has {', '.join(known)}")

    def mapping(self, value: Value, name: str, example: str) -> dict[str, Value]:
        """Returns the values below a key; empty where the key is missing, or is no mapping, which is noted."""
        inner = value.data.get(name) if value.is_mapping else None
        if inner is None or inner.data is None:
            return {}
        if not inner.is_mapping:
            self.problem(inner.place, f"`{name}` must be a mapping; write `{example}`")
            return {}
        found: dict[str, Value] = inner.data
        return found

    def text_of(self, value: Value, name: str, default: str) -> str:
        """Returns a text, or anything plain as it is written; the default where there is none.

        A list, a mapping, null or a very long text is noted.
        """
        inner = value.data.get(name) if value.is_mapping else None
        if inner is None:
            return default
        if inner.is_mapping or inner.is_list or inner.data is None:
            self.problem(inner.place, f"`{name}` must be a text")
            return default
        if len(inner.raw) > _LONGEST_TEXT:
            self.problem(inner.place, f"`{name}` has more than {_LONGEST_TEXT:,} characters")
            return default
        return str(inner.raw).strip()

    def yes_or_no(self, value: Value, name: str, default: bool) -> bool:
        """Returns a truth value, or the default if there is none; anything else is noted."""
        inner = value.data.get(name)
        if inner is None:
            return default
        if not isinstance(inner.data, bool):
            self.problem(inner.place, f"`{name}` must be true or false")
            return default
        return inner.data

    def names(self, value: Value, name: str) -> tuple[str, ...]:
        """Returns a list of texts, also from one text; empty if there is none.

        What is no text is noted and left out.
        """
        inner = value.data.get(name)
        if inner is None:
            return ()
        items = inner.data if inner.is_list else [inner]
        found = []
        for item in items:
            if item.is_mapping or item.is_list or item.data is None:
                self.problem(item.place, f"`{name}` must be a list of names")
                continue
            found.append(item.raw)
        return tuple(found)

    def range_of(self, value: Value) -> tuple[float, float, bool] | None:
        """Returns both ends of a range, and whether they are whole numbers; None, and a problem, if it is wrong."""
        ends = value.data if value.is_list else ()
        if len(ends) != 2 or not all(end.is_number for end in ends):
            self.problem(value.place, "`range` must be two numbers; write `range: [1, 5]`")
            return None
        low, high = (end.data for end in ends)
        if not low < high:
            self.problem(value.place, f"`range` goes from {low:g} to {high:g}; write the lower number first")
            return None
        return float(low), float(high), type(low) is int and type(high) is int

    def is_name(self, name: str, place: Place, what: str) -> bool:
        """Is a text fit as a name? If not, that is noted as a mistake."""
        if name.startswith("model_") and hasattr(BaseModel, name):
            self.problem(place, f"{what} cannot be called `{name}`: the libraries below use that name")
            return False
        if NAME.fullmatch(name):
            return True
        self.problem(
            place, f"{what} is called {name!r:.80}; a name has letters, digits and _ only, and begins with a letter"
        )
        return False


def is_scalar(value: Value) -> bool:
    """Is a value neither a mapping nor a list?"""
    return not value.is_mapping and not value.is_list
