"""`krino explain`: how a court name, a case number or an ECLI of Belgian case law is understood."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from krino.cli import options
from krino.cli.printing import as_json
from krino.errors import UsageProblem

app = typer.Typer(no_args_is_help=True, help="Show how a Belgian court name, case number or ECLI is understood.")

Texts = Annotated[list[str] | None, typer.Argument(metavar="TEXT...", show_default=False)]
ListFile = Annotated[Path | None, options.flag("File with one text a line (`-` is standard input).")]
Aliases = Annotated[
    Path | None,
    options.flag(
        "Names of your own for courts: a TOML, JSON or CSV file. By default those of krino.toml's citation options."
    ),
]


@app.command("court")
def court(texts: Texts = None, file: ListFile = None, aliases: Aliases = None, json: options.AsJson = False) -> None:
    """Which court a string names, its division, and by which alias."""
    known = _aliases(aliases)
    _print(_given(texts, file), lambda text: explain_court(text, known), json)


@app.command("case-number")
def case_number(texts: Texts = None, file: ListFile = None, json: options.AsJson = False) -> None:
    """What a case number is made of, and how each one relates to the first."""
    given = _given(texts, file)
    _print(given, lambda text: explain_case_number(text, given[0], first=text is given[0]), json)


@app.command("ecli")
def ecli(texts: Texts = None, file: ListFile = None, json: options.AsJson = False) -> None:
    """The parts of an ECLI, and what is odd about it."""
    _print(_given(texts, file), explain_ecli, json)


def _aliases(file: Path | None) -> dict[str, str]:
    """The aliases that `krino judge citation` would use here; those of the file in their place."""
    from krino.cli.judge import judge_options
    from krino.judges.citation.options import CitationOptions
    from krino.judges.registry import load_judge

    given = {"aliases": str(file)} if file is not None else judge_options("citation", None)
    found = load_judge("citation", given).options
    return dict(found.aliases) if isinstance(found, CitationOptions) else {}


def explain_court(text: str, aliases: Mapping[str, str] | None = None) -> dict[str, Any]:
    from krino.judges.citation.belgium.courts import Court, Other, resolve_court
    from krino.judges.citation.options import meant_by

    own = meant_by(aliases or {}, text)
    found = resolve_court(own or text)
    court = found if isinstance(found, Court) else None
    known = found if isinstance(found, Court | Other) else None
    return {
        "input": text,
        "kind": "unknown" if known is None else "court" if court else "other",
        "classification": known.classification if known else None,
        "type": court.type if court else found.body if isinstance(found, Other) else None,
        "place": court.place if court else None,
        "division": court.division if court else None,
        "language": known.language if known else None,
        "ecli_codes": list(known.ecli_codes) if known else [],
        "alias": known.alias if known else None,
        "own_alias": own,
        "mended": list(known.mended) if known else [],
    }


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
