"""List the JSON files of a folder of cases, in the order of their names."""

from __future__ import annotations

from pathlib import Path

from krino.errors import UsageProblem


def json_files(folder: Path, shown: str) -> list[str]:
    """The names of the *.json files right inside the folder, sorted; hidden ones are left out."""
    try:
        names = [entry.name for entry in folder.iterdir() if entry.name.lower().endswith(".json")]
    except OSError as error:
        raise UsageProblem(f"{shown}: the folder cannot be read: {error.strerror}") from None
    if visible := sorted(name for name in names if not name.startswith(".")):
        return visible
    raise UsageProblem(
        f"{shown}: the folder holds no *.json files; name files of other formats one by one ({shown}/*.jsonl)"
    )
