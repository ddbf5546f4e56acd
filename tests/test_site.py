"""The documentation site: every page has a place, every link a goal, every rule a case that fires it."""

from __future__ import annotations

import json
import re
import tomllib
import unicodedata
from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import cache
from os.path import normpath
from pathlib import Path, PurePosixPath
from typing import Any

import make_site
import pytest
from site_pages import providers, rules

import krino
from command_here import krino as command
from command_here import own_folder
from endpoints import ENDPOINTS, KEY, serve
from endpoints.labelling import labels_for
from fake_llm import FakeServer
from fake_llm.replies import what_is_asked
from krino.cli import exits
from krino.cli.settings import SECTIONS
from krino.judges.registry import OURS
from krino.labellers.llm.endpoint import providers as known_providers
from krino.runs.folder import OUR_FILES
from page_blocks import blocks_of, commands

ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"(?<!\!)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")
_PICTURE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?)(?: *\{ *#([\w.-]+) *\})? *#*$", re.MULTILINE)
_CODE = re.compile(r"^ *(`{3,}).*?^ *\1 *$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """All pages of the site as they are handed to the renderer."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("site")
        patch.setattr(make_site, "BUILD", folder)
        patch.setattr(make_site, "PAGES", folder / "pages")
        make_site.assemble()
        yield {
            str(page.relative_to(folder / "pages")): page.read_text("utf-8")
            for page in (folder / "pages").rglob("*.md")
        }


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as the renderer makes them."""
    found: set[str] = set()
    for title, given in _HEADING.findall(_CODE.sub("", text)):
        slug = given or slug_of(title)
        found.add(slug if slug not in found else f"{slug}_1")
    return found


def slug_of(title: str) -> str:
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("`", "").replace("*", "")
    ascii_only = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_only).strip().lower())


def test_every_link_inside_the_site_leads_to_a_page_and_a_heading(pages: dict[str, str]) -> None:
    broken = []
    for page, text in pages.items():
        for link in _LINK.findall(_CODE.sub("", text)):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            goal = normpath(PurePosixPath(page).parent / path) if path else page
            if goal not in pages or (anchor and anchor not in anchors(pages[goal])):
                broken.append(f"{page}: {link}")
    assert broken == []


def test_every_picture_is_there(pages: dict[str, str]) -> None:
    shown = {(page, to) for page, text in pages.items() for to in _PICTURE.findall(_CODE.sub("", text))}
    assert {
        to for page, to in shown if not (ROOT / "docs" / normpath(PurePosixPath(page).parent / to)).is_file()
    } == set()


def test_no_page_loads_anything_from_elsewhere(pages: dict[str, str]) -> None:
    assert [page for page, text in pages.items() for to in _PICTURE.findall(text) if "://" in to] == []
    assert tomllib.loads((ROOT / "docs" / "site.toml").read_text("utf-8"))["project"]["theme"]["font"] is False


@pytest.mark.parametrize("judge", OURS)
def test_every_rule_is_on_its_page_with_a_case_that_fires_it(judge: str, pages: dict[str, str]) -> None:
    examples, known = rules.examples(judge), krino.load_judge(judge).rules
    assert list(examples) == list(known)
    text = pages[f"judges/{judge}/rules.md"]
    assert set(re.findall(r"^### (\S+)$", text, re.MULTILINE)) == set(known)
    without = [rule for rule, example in examples.items() if "none" in example]
    assert len(without) <= 3
    assert text.count("The verdict then says:") == len(known) - len(without)


def test_an_example_that_does_not_fire_its_rule_ends_the_build() -> None:
    example = rules.examples("citation")["CIT-K1"]
    assert rules.fired(rules.judged("citation", example), "CIT-K1")
    assert rules.fired(rules.judged("citation", example), "CIT-K3") == []


def test_every_public_name_is_on_the_page_of_the_python_interface(pages: dict[str, str]) -> None:
    named = set(re.findall(r"^::: krino\.(\w+)$", pages["reference/python.md"], re.MULTILINE))
    assert named == set(krino.__all__) - {"__version__"}


def test_every_command_and_every_option_is_on_the_page_of_the_command_line(pages: dict[str, str]) -> None:
    text = pages["reference/command_line.md"]
    listed = set(re.findall(r"^ {2,3}(\w[\w-]*) {2,}", command("--help").out.replace("│", " "), re.MULTILINE))
    assert {"judge", "show", "gate", "verify"} <= listed
    assert {name for name in listed if f"## krino {name}\n" not in text} == set()
    shown = set(re.findall(r"(--[a-z][a-z-]+)", command("gate", "--help").out))
    assert {flag for flag in shown if f"`{flag}`" not in text} <= {"--help"}


def test_the_table_of_exit_codes_is_the_real_one(pages: dict[str, str]) -> None:
    table = {int(code) for code in re.findall(r"^\| (\d+) \|", pages["reference/exit_codes.md"], re.MULTILINE)}
    assert table == {value for name, value in vars(exits).items() if name.isupper() and name[0] != "_"}


def test_every_section_of_the_settings_file_is_explained(pages: dict[str, str]) -> None:
    named = set(re.findall(r"^\| `\[(\w+)", pages["reference/krino_toml.md"], re.MULTILINE))
    assert named == set(SECTIONS)


def test_every_file_of_a_run_folder_is_explained(pages: dict[str, str]) -> None:
    assert {name for name in OUR_FILES if f"`{name}" not in pages["reference/run_folder.md"]} == set()


def test_only_of_the_judges_that_the_page_names_a_case_without_a_verdict_has_an_object(pages: dict[str, str]) -> None:
    shapes = {name: krino.judge(name, {"id": "blank"}).verdict for name in OURS}
    (named,) = re.findall(r"its verdict is null; of `(\w+)`", pages["ideas/fail_closed.md"])
    assert [name for name, verdict in shapes.items() if verdict is not None] == [named]
    assert {key for key, value in (shapes[named] or {}).items() if value is not None} == {"evaluation_status", "reason"}


@cache
def cases() -> str:
    case = {"question": "How tall is it?", "context": ["It is 102 metres tall."], "answer": "It is 102 metres tall."}
    return json.dumps(case) + "\n"


def endpoint(provider: str) -> AbstractContextManager[Any]:
    """The provider's emulation; one without any of its own speaks plain OpenAI."""
    if provider in ENDPOINTS:
        return serve(provider)
    return FakeServer(reply=lambda request: labels_for(request, what_is_asked(request)) or {})


@pytest.mark.parametrize("provider", providers.words())
def test_the_commands_of_a_providers_page_work(provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = providers.pages()[f"guides/providers/{provider}.md"]
    with own_folder(tmp_path, monkeypatch, "off"), endpoint(provider) as server:
        (tmp_path / "cases.jsonl").write_text(cases())
        monkeypatch.setenv(f"{provider.upper()}_BASE_URL", server.url)
        for name in known_providers()[provider].get("key", [])[:1]:
            monkeypatch.setenv(name, KEY)
        (block,) = [block for block in blocks_of(page) if block.language == "console"]
        for line, _, code in commands(block):
            done = command(*line.split()[1:])
            assert done.code == code, f"{line}\n{done.out}\n{done.err}"
