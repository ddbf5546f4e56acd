"""Builds the documentation site: collects the pages, writes those that are made from the program, renders all.

    python docs/make_site.py [--pages-only]

Pages are the Markdown files of docs/ and the files elsewhere that `docs/site.toml` names (cards, SECURITY.md, ...).
`docs/site_pages/` writes the rest: commands, rules with examples, schemas, providers. Nothing that is made is
committed. A link that leads nowhere, an anchor that is not there and a page without a place in the navigation end the
build.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from site_pages import command_line, http_api, judge_pages, providers, rules, schemas
from site_pages.markdown import SECTION, adapt, page_paths, section_of

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "docs"
PAGES = BUILD / "pages"
SETTINGS = ROOT / "docs" / "site.toml"
MAKERS = (command_line, http_api, judge_pages, providers, rules, schemas)


def settings() -> dict[str, Any]:
    """What docs/site.toml says."""
    return tomllib.loads(SETTINGS.read_text("utf-8"))


def collect(included: dict[str, str]) -> None:
    """Copies pages and pictures, with links that fit their new places."""
    places = page_paths(ROOT, included)
    for source, target in places.items():
        goal = PAGES / target
        goal.parent.mkdir(parents=True, exist_ok=True)
        goal.write_text(page_of(source, places), "utf-8")
    for picture in sorted((ROOT / "docs").glob("*.*")):
        if picture.suffix in {".png", ".svg"}:
            shutil.copy(picture, PAGES / picture.name)
    shutil.copytree(ROOT / "docs" / "assets", PAGES / "assets")


def page_of(source: str, places: dict[str, str]) -> str:
    """A page of the repository with what it takes in from elsewhere: sections of other files, tables that are made."""
    text = (ROOT / source).read_text("utf-8").replace("<!-- providers -->", providers.overview())

    def section(wanted: re.Match[str]) -> str:
        found = section_of((ROOT / wanted["path"]).read_text("utf-8"), wanted["heading"])
        if found is None:
            raise SystemExit(f"{source}: {wanted['path']} has no section {wanted['heading']!r}")
        return adapt(found, wanted["path"], {**places, wanted["path"]: places[source]})

    return SECTION.sub(section, adapt(text, source, places))


def generate() -> None:
    """Writes the pages that are made from the program."""
    for maker in MAKERS:
        for path, text in maker.pages().items():
            goal = PAGES / path
            goal.parent.mkdir(parents=True, exist_ok=True)
            goal.write_text(text, "utf-8")


def expand(navigation: list[Any], named: Sequence[str]) -> list[Any]:
    """The navigation with each pattern (`guides/providers/*.md`) replaced by the pages that have no other place."""
    found: list[Any] = []
    for entry in navigation:
        if isinstance(entry, dict):
            found += [{title: item if isinstance(item, str) else expand(item, named)} for title, item in entry.items()]
        elif "*" in entry:
            found += [
                str(page.relative_to(PAGES))
                for page in sorted(PAGES.glob(entry))
                if str(page.relative_to(PAGES)) not in named
            ]
        else:
            found.append(entry)
    return found


def named_in(navigation: list[Any]) -> list[str]:
    """Every page that a navigation names, at any depth."""
    found: list[str] = []
    for entry in navigation:
        for item in entry.values() if isinstance(entry, dict) else [entry]:
            found += [item] if isinstance(item, str) else named_in(item)
    return found


def check_navigation(navigation: list[Any]) -> None:
    """Ends the build if a page has no place in the navigation or two, or a place has no page."""
    there, named = {str(page.relative_to(PAGES)) for page in PAGES.rglob("*.md")}, named_in(navigation)
    problems = [f"{page}: in docs/site.toml, but there is no such page" for page in set(named) - there]
    problems += [f"{page}: has no place in the navigation of docs/site.toml" for page in there - set(named)]
    problems += [f"{page}: has two places in docs/site.toml" for page in set(named) if named.count(page) > 1]
    if problems:
        raise SystemExit("\n".join(sorted(problems)))


def toml_value(value: Any) -> str:
    """A value as TOML writes it inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml_value(key)} = {toml_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


def write_renderer_settings(project: dict[str, Any]) -> Path:
    """Zensical's own settings: what docs/site.toml says under `project`, and where things are."""
    config = BUILD / "zensical.toml"
    given = {**project, "docs_dir": "pages", "site_dir": "site"}
    config.write_text(
        "[project]\n" + "".join(f"{key} = {toml_value(value)}\n" for key, value in given.items()), "utf-8"
    )
    return config


def render(config: Path) -> None:
    """Renders the site. What the reader of docstrings finds (`griffe:`) is an error too; Zensical only prints it."""
    command = [str(Path(sys.executable).with_name("zensical")), "build", "--strict", "-f", str(config)]
    done = subprocess.run(command, cwd=BUILD, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(done.stdout)
    raise SystemExit(done.returncode or int("griffe:" in done.stdout))


def assemble() -> Path:
    """Puts all pages and the renderer's settings into the build folder; returns the path of the settings."""
    shutil.rmtree(BUILD, ignore_errors=True)
    PAGES.mkdir(parents=True)
    given = settings()
    collect(given["included"])
    generate()
    project = given["project"]
    project["nav"] = expand(project["nav"], named_in(project["nav"]))
    check_navigation(project["nav"])
    return write_renderer_settings(project)


def main() -> None:
    config = assemble()
    if "--pages-only" not in sys.argv[1:]:
        render(config)


if __name__ == "__main__":
    main()
