"""Loads `krino.toml`. Flags override `KRINO_*` variables, which override the file."""

from __future__ import annotations

import json
import math
import os
import tomllib
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import typer

from krino.errors import UsageProblem
from krino.text.guessing import did_you_mean

PRICES_NEEDED = frozenset({"input", "output"})
PRICES_KNOWN = PRICES_NEEDED | {"cached", "cache_write"}
FOR_DOCTOR = ("labeller", "base_url", "api_version", "extra_body", "extra_headers")
"""Keys of the section judge that also apply to `krino doctor`."""
SECTIONS = ("judge", "options", "prices", "doctor", "gate")


@dataclass(frozen=True, slots=True)
class FileSettings:
    """The settings of the file, by section."""

    path: Path | None = None
    found: bool = False
    """Was it found in a folder, where anybody may have put it, and not named by `$KRINO_CONFIG`?"""
    judge: Mapping[str, Any] = field(default_factory=dict)
    doctor: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    prices: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    gate: Mapping[str, Any] = field(default_factory=dict)

    def defaults(self) -> dict[str, Any]:
        """Returns default flag values by command, in the form that Click takes."""
        model = {key: self.judge[key] for key in FOR_DOCTOR if key in self.judge}
        return {
            "judge": self._as_flags("judge", self.judge),
            "doctor": self._as_flags("doctor", {**model, **self.doctor}),
        }

    def _as_flags(self, name: str, section: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the section with its tables written like the flags of the same name; raises `UsageProblem` for a
        wrong table."""
        written = dict(section)
        for key in ("extra_body", "extra_headers"):
            if key not in section:
                continue
            table = section[key]
            if not isinstance(table, dict):
                raise UsageProblem(f"{self.path}: `{key}` must be a table, as in [{name}.{key}]")
            if key == "extra_headers":
                if wrong := [header for header, value in table.items() if not isinstance(value, str)]:
                    raise UsageProblem(f"{self.path}: [{name}.{key}] {wrong[0]} must be a text")
                written[key] = [f"{header}={value}" for header, value in table.items()]
            else:
                try:
                    written[key] = json.dumps(table, allow_nan=False)
                except (TypeError, ValueError) as error:
                    raise UsageProblem(f"{self.path}: [{name}.{key}] cannot be written as JSON: {error}") from None
        return written


@cache
def load_settings() -> FileSettings:
    """Loads the settings file that applies: `$KRINO_CONFIG`, or `krino.toml` here or in a folder above (see
    `_may_be_used`). Empty settings if there is none; raises `UsageProblem` for a file with mistakes."""
    path = _find_file()
    if path is None:
        return FileSettings()
    data = read_toml(path)
    if unknown := sorted(data.keys() - set(SECTIONS)):
        raise UsageProblem(
            f"{path}: unknown section [{unknown[0]}]{did_you_mean(unknown[0], SECTIONS)}; "
            f"there are {', '.join(SECTIONS)}"
        )
    sections = {name: data.get(name, {}) for name in SECTIONS}
    for name, section in sections.items():
        if not isinstance(section, dict):
            raise UsageProblem(f"{path}: `{name}` must be a section, as in [{name}]")
    _check_keys(path, "judge", sections["judge"])
    _check_keys(path, "gate", sections["gate"])
    for name in ("options", "prices"):
        if wrong := [key for key, value in sections[name].items() if not isinstance(value, dict)]:
            raise UsageProblem(f'{path}: `{wrong[0]}` must be a section, as in [{name}."{wrong[0]}"]')
    for model, prices in sections["prices"].items():
        if not PRICES_NEEDED <= set(prices) <= PRICES_KNOWN or not all(map(_is_price, prices.values())):
            raise UsageProblem(
                f'{path}: [prices."{model}"] needs two numbers that are not below 0, input and output, '
                "and may have two more, cached and cache_write"
            )
    return FileSettings(path, not os.environ.get("KRINO_CONFIG"), **sections)


def read_toml(path: Path) -> dict[str, Any]:
    """Reads a TOML file; raises `UsageProblem` with what is wrong with it."""
    try:
        return tomllib.loads(path.read_text("utf-8-sig"))  # some editors add a byte-order mark
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageProblem(f"{path}: {error}") from None


def _is_price(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def _check_keys(path: Path, name: str, section: Mapping[str, Any]) -> None:
    """Raises `UsageProblem` for unknown keys, so that a misspelt one is not silently ignored."""
    import inspect

    from krino.cli.commands.gate import FROM_FILE
    from krino.cli.commands.judge import NOT_IN_FILE, judge

    known = FROM_FILE if name == "gate" else inspect.signature(judge).parameters.keys() - NOT_IN_FILE
    if unknown := sorted(section.keys() - known):
        guess = did_you_mean(unknown[0], known)
        raise UsageProblem(f"{path}: [{name}] has no key `{unknown[0]}`{guess}; it has {', '.join(sorted(known))}")


def _find_file() -> Path | None:
    """Finds the settings file: named by a variable, or in this folder or one above; None if there is none that may be
    used."""
    if named := os.environ.get("KRINO_CONFIG"):
        path = Path(named)
        if not path.is_file():
            raise UsageProblem(f"KRINO_CONFIG names {path}, which is not a file")
        return path
    here = Path.cwd()
    above = (folder / "krino.toml" for folder in (here, *here.parents))
    return next((path for path in above if path.is_file() and _may_be_used(path, here)), None)


def _may_be_used(path: Path, here: Path) -> bool:
    """May a file that was found be used? It decides where cases are sent.

    A file above the user's folder that belongs to another user is not used. One that the user may not know of is used
    with a message.
    """
    if _belongs_to_stranger(path, {here.stat().st_uid}):
        typer.echo(
            f"{path} is not used: it belongs to another user. If you trust it, name it with KRINO_CONFIG={path}",
            err=True,
        )
        return False
    if _belongs_to_stranger(path) or not path.parent.is_relative_to(_find_project(here)):
        typer.echo(f"settings are taken from {path}", err=True)
    return True


def _belongs_to_stranger(path: Path, known: AbstractSet[int] = frozenset()) -> bool:
    """Does a file belong neither to the user, nor to the system, nor to one of the known users?"""
    return hasattr(os, "geteuid") and path.stat().st_uid not in {os.geteuid(), 0, *known}


def _find_project(here: Path) -> Path:
    """Returns the repository that a folder is in, else the folder itself."""
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
