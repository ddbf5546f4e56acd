"""A page for each provider of models, from the table that Krino itself uses."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from krino.labellers.llm.endpoint import address_variables, providers

WORDS = Path(__file__).resolve().parents[1] / "providers.toml"
STRENGTHS = {
    "plain": "the judge's schema, the same for all cases, so that the prompt cache keeps it",
    "choices": "closed lists of values",
    "bounded": "closed lists of values, ranges and numbers of items",
    "sized": "closed lists of values, ranges, numbers of items and lengths of texts",
    "exact": "all that the case allows, single items and combinations included",
}


def words() -> dict[str, dict[str, Any]]:
    """By provider: title, the model of the examples, notes."""
    return tomllib.loads(WORDS.read_text("utf-8"))


def pages() -> dict[str, str]:
    said = words()
    if said.keys() != providers().keys():
        raise SystemExit(f"docs/providers.toml and Krino's table differ: {sorted(said.keys() ^ providers().keys())}")
    return {f"guides/providers/{name}.md": _page(name, said[name]) for name in said}


def overview() -> str:
    """The table of all providers, for the page about labellers."""
    lines = ["| provider | named as | key |", "|---|---|---|"]
    for name, said in words().items():
        lines.append(f"| [{said['title']}](providers/{name}.md) | `{said['model']}` | {_keys(name)} |")
    return "\n".join(lines) + "\n"


def _page(name: str, said: dict[str, Any]) -> str:
    entry = providers()[name]
    strength, strongest = entry.get("strength", "sized"), entry.get("strongest", entry.get("strength", "exact"))
    lines = [
        f"# {said['title']}",
        "",
        "```console",
        f"$ krino doctor --labeller {said['model']}",
        f"$ krino judge rag cases.jsonl --labeller {said['model']} --run my-run",
        "```",
        "",
        "| setting | |",
        "|---|---|",
        f"| key | {_keys(name)} |",
        f"| address | {_address(entry)} |",
        f"| moved by | {', '.join(f'`{each}`' for each in address_variables(name))}, `--base-url` |",
        f"| dialect | {entry['dialect']} |",
        f"| what it is sent of a schema | {STRENGTHS[strength]} |",
        f"| ... after a reply that did not fit | {STRENGTHS[strongest]} |",
        *_more(entry),
    ]
    if said["notes"]:
        lines += ["", *(f"- {note}" for note in said["notes"])]
    lines += [
        "",
        "What holds for all providers, and what happens to a call, is on [Labellers and endpoints](../labellers.md).",
    ]
    return "\n".join(lines) + "\n"


def _keys(name: str) -> str:
    entry = providers()[name]
    named = " or ".join(f"`{each}`" for each in entry.get("key", []))
    return f"{named or 'none'}, if the server wants one" if entry.get("keyless") and named else named or "none"


def _address(entry: dict[str, Any]) -> str:
    return f"`{entry['base_url']}`" if "base_url" in entry else "yours to state"


def _more(entry: dict[str, Any]) -> list[str]:
    """Rows that only some providers have."""
    rows = []
    if "cached_from" in entry:
        rows.append(f"| prompt cache | keeps the beginning of a prompt from {entry['cached_from']:,} tokens on |")
    if "reasoning_tokens" in entry:
        rows.append(f"| reasoning | {entry['reasoning_tokens']:,} tokens more in the limit of a reply |")
    if "region_env" in entry:
        rows.append(f"| region | {' or '.join(f'`{each}`' for each in entry['region_env'])} |")
    return rows
