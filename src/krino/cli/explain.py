"""`krino explain`: how a court name, a case number or an ECLI of Belgian case law is understood."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from krino.cli import options
from krino.cli.printing import as_json
from krino.errors import UsageProblem

app = typer.Typer(no_args_is_help=True, help="Show how a Belgian court name, case number or ECLI is understood.")

Texts = Annotated[list[str] | None, typer.Argument(metavar="TEXT...", show_default=False)]
ListFile = Annotated[Path | None, options.flag("File with one text a line (`-` is standard input).")]


@app.command("court")
def court(texts: Texts = None, file: ListFile = None, json: options.AsJson = False) -> None:
    """Which court a string names, and by which alias."""
    _print(_given(texts, file), explain_court, json)


@app.command("case-number")
def case_number(texts: Texts = None, file: ListFile = None, json: options.AsJson = False) -> None:
    """What a case number is made of, and how each one relates to the first."""
    given = _given(texts, file)
    _print(given, lambda text: explain_case_number(text, given[0], first=text is given[0]), json)


@app.command("ecli")
def ecli(texts: Texts = None, file: ListFile = None, json: options.AsJson = False) -> None:
    """The parts of an ECLI, and what is odd about it."""
    _print(_given(texts, file), explain_ecli, json)


def explain_court(text: str) -> dict[str, Any]:
    from krino.judges.citation.belgium.courts import Court, Other, resolve_court

    found = resolve_court(text)
    if isinstance(found, Court | Other):
        is_court = isinstance(found, Court)
        name, place = (found.type, found.place) if isinstance(found, Court) else (found.body, None)
        return {
            "input": text,
            "kind": "court" if is_court else "other",
            "classification": found.classification,
            "type": name,
            "place": place,
            "ecli_codes": list(found.ecli_codes),
            "alias": found.alias,
            "mended": list(found.mended),
        }
    empty: dict[str, Any] = {"classification": None, "type": None, "place": None, "ecli_codes": []}
    return {"input": text, "kind": "unknown", **empty, "alias": None, "mended": []}


def explain_case_number(text: str, other: str, *, first: bool) -> dict[str, Any]:
    from krino.judges.citation.belgium.case_numbers import compare, parse_case_numbers

    parts = ("family", "text", "year", "sequence", "matter", "register", "language")
    numbers = [{name: getattr(number, name) for name in parts} for number in parse_case_numbers(text)]
    found = None if first else compare(other, text)
    return {
        "input": text,
        "numbers": numbers,
        "relation": found.relation if found else None,
        "why": found.why if found else None,
    }


def explain_ecli(text: str) -> dict[str, Any]:
    from krino.judges.citation.belgium.courts import Unknown, court_of_ecli_code
    from krino.judges.citation.belgium.ecli import parse_ecli

    found = parse_ecli(text)
    if found is None:
        nothing = {"court": None, "year": None, "document_type": None, "date": None}
        return {"input": text, "valid": False, **nothing, "warnings": ["This is not an ECLI."]}
    warnings = list(found.warnings)
    named = court_of_ecli_code(found.court_code) if found.country == "BE" else None
    if isinstance(named, Unknown):
        warnings.append(f"The court code {found.court_code} is not known in Belgium.")
    return {
        "input": text,
        "valid": True,
        "court": _real_code(found.court_code, named, warnings),
        "year": found.year,
        "document_type": found.document_type,
        "date": found.date.isoformat() if found.date else None,
        "warnings": warnings,
    }


def _real_code(code: str, court: object, warnings: list[str]) -> str:
    """The code itself, or the one it is written for by mistake."""
    from krino.judges.citation.belgium.courts import Court

    if not isinstance(court, Court) or not court.ecli_codes or code in court.ecli_codes:
        return code
    warnings.append(f"The court code {code} is not in use; {court.ecli_codes[0]} is meant.")
    return court.ecli_codes[0]


def _given(texts: list[str] | None, file: Path | None) -> list[str]:
    given = list(texts or ())
    if file is not None:
        given += _lines(file)
    if not given:
        raise UsageProblem("nothing to explain: give one or more texts, or --file with one text a line")
    return given


def _lines(file: Path) -> list[str]:
    try:
        content = typer.get_text_stream("stdin").read() if str(file) == "-" else file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageProblem(f"--file {file} cannot be read: {error}") from None
    return [line for line in content.splitlines() if line.strip()]


def _print(texts: Iterable[str], explain: Callable[[str], dict[str, Any]], json: bool) -> None:
    for text in texts:
        found = explain(text)
        as_json(found) if json else typer.echo(_words(found))


def _words(found: dict[str, Any]) -> str:
    lines = [str(found["input"])]
    for name, value in found.items():
        if name == "numbers":
            lines += [f"  number: {_parts(number)}" for number in value] or ["  number: none"]
        elif name != "input" and value not in (None, []):
            lines.append(f"  {name}: {', '.join(map(str, value)) if isinstance(value, list) else value}")
    return "\n".join(lines)


def _parts(number: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in number.items() if value is not None)
