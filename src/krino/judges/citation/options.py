"""The options of the citation judge: aliases of courts, and who reads the matcher's reasoning."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, field_validator

from krino.judges.citation import table
from krino.judges.citation.belgium.courts import Unknown, resolve_court
from krino.judges.citation.belgium.gazetteer import name_words
from krino.judges.citation.case import CitationCase

WhoReads = Literal["open", "always", "never"]
_SEPARATORS = (",", ";", "\t")


class CitationOptions(BaseModel):
    """The options of the citation judge. Aliases given as a file are recorded in the run as a table."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reasoning: WhoReads = Field(
        "open",
        description="when the labeller reads the matcher's reasoning: where the decision is open, always or never",
    )
    aliases: dict[str, str] = Field(
        {}, description="your own names of courts, each with a name that is understood: a TOML, JSON or CSV file"
    )

    @field_validator("aliases", mode="before")
    @classmethod
    def _read_file(cls, value: Any) -> Any:
        return _load_aliases(Path(value)) if isinstance(value, str | Path) else value

    @field_validator("aliases")
    @classmethod
    def _check_aliases(cls, value: dict[str, str]) -> dict[str, str]:
        """Refuses an alias that holds no word, or whose meaning is no known court."""
        for name, meant in value.items():
            if not name_words(name):
                raise ValueError(f"the alias {name!r} holds no word")
            if isinstance(resolve_court(meant), Unknown):
                raise ValueError(f"{meant!r}, given for the alias {name!r}, is no known court")  # noqa: TRY004
        return value


def _load_aliases(path: Path) -> Any:
    """Reads a file of aliases: a TOML table (at the top or under [aliases]), a JSON object, or two columns of CSV."""
    try:
        text = path.read_text("utf-8-sig")
        if path.suffix == ".json":
            return orjson.loads(text)
        if path.suffix == ".csv":
            return _parse_csv(path, text)
        data = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, orjson.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"the file of aliases {path} cannot be read: {error}") from None
    return data.get("aliases", data)


def _parse_csv(path: Path, text: str) -> dict[str, str]:
    """Returns the aliases of two columns, separated by comma, semicolon or tab, with or without a header.

    Refuses other numbers of columns, and an alias with two meanings.
    """
    rows = min(
        (_parse_rows(text, mark) for mark in _SEPARATORS), key=lambda rows: sum(len(row) != 2 for _, row in rows)
    )
    if wrong := [line for line, row in rows if len(row) != 2]:
        raise ValueError(f"{path}:{wrong[0]}: write two columns, the alias and the court it means")
    if rows and all(cell.casefold() in _column_titles() for cell in rows[0][1]):
        del rows[0]
    found: dict[str, str] = {}
    for line, (alias, court) in rows:
        if found.setdefault(alias, court) != court:
            raise ValueError(f"{path}:{line}: the alias {alias!r} has two meanings, {found[alias]!r} and {court!r}")
    return found


def _parse_rows(text: str, separator: str) -> list[tuple[int, list[str]]]:
    """The rows that are not blank, each with its line number."""
    reader = csv.reader(text.splitlines(), delimiter=separator)
    rows = ((reader.line_num, [cell.strip() for cell in row]) for row in reader)
    return [(line, row) for line, row in rows if any(row)]


@cache
def _column_titles() -> frozenset[str]:
    return frozenset(table("record_names")["alias_titles"]["words"])


def find_alias(aliases: Mapping[str, str], name: str) -> str | None:
    """Returns the court that one of the user's aliases means, ignoring case and accents; None if it is no alias."""
    wanted = name_words(name)
    return next((court for alias, court in aliases.items() if name_words(alias) == wanted), None)


def apply_aliases(case: CitationCase, aliases: Mapping[str, str]) -> CitationCase:
    """Returns the case with each alias replaced by the name of its court; `aliases_used` lists those found."""
    if not aliases:
        return case
    known = {name_words(alias): court for alias, court in aliases.items()}
    used: list[str] = []

    def meant(name: str | None) -> str | None:
        """Returns the court that an alias stands for, and notes the alias; other names stay as they are."""
        court = known.get(name_words(name)) if name else None
        if court is None:
            return name
        used.append(f"{name} → {court}")
        return court

    candidates = tuple(
        candidate.model_copy(
            update={
                field: meant(getattr(candidate, field)) for field in ("court_name", "court_name_fr", "court_name_nl")
            }
        )
        for candidate in case.candidates
    )
    matches = tuple(match.model_copy(update={"court_name": meant(match.court_name)}) for match in case.matches)
    changed = {"cited_court_name": meant(case.cited_court_name), "candidates": candidates, "matches": matches}
    return case.model_copy(update={**changed, "aliases_used": tuple(dict.fromkeys(used))})
