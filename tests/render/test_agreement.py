"""Reports on agreement say what was compared with what, fit the screen, and let no label act."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

import krino
from krino.render.agreement import agreement_blocks
from krino.render.markdown import to_markdown
from krino.render.terminal import show
from krino.results.agreement.result import Agreement
from krino.results.formatting import format_interval
from made_judgements import HOSTILE, failed, ok


def printed(agreement: Agreement, width: int = 80) -> str:
    console = Console(file=StringIO(), width=width, force_terminal=True, color_system=None)
    show(console, agreement_blocks(agreement, "toy 1.0 against labels.csv"))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


@pytest.fixture(scope="module")
def agreement() -> Agreement:
    judgements: list[dict[str, Any]] = [
        ok(number, match="abc"[number % 3], score=number % 5 / 4, rate=number / 40, confidence=0.8)
        for number in range(40)
    ]
    labels = [
        {
            "id": f"case-{number}",
            "rater": rater,
            "match": "abca"[(number + step) % 4],
            "score": (number + step) % 5 / 4,
            "rate": number / 40 + 0.01 * step,
            "court": number % 7,
        }
        for number in range(42)
        for step, rater in enumerate(("anna", "ben"))
    ]
    return krino.agree([*judgements, failed(40)], labels, cluster="court", draws=60)


def test_the_terminal_report_says_who_was_compared_with_whom(agreement: Agreement) -> None:
    text = " ".join(printed(agreement).split())
    assert "41 labelled: ✓ 40 judged (98 %) – 1 failed (2 %) ✗ 0 error (0 %)" in text
    assert "labelled, but not in the run: 1 (as case-41)" in text
    assert "match classes, 2 raters (anna, ben)" in text
    assert "The judge against the majority of the raters (" in text
    assert re.search(r"\(without the \d+ where there is none\)", text)
    assert "correlations and errors against their mean" in text
    assert "against how often its `match` is what the majority of people say" in text
    assert "clusters of `court` (7 of them, from the labels; so few make intervals too narrow)" in text


@pytest.mark.parametrize("width", [80, 100])
def test_the_terminal_report_fits_the_screen(agreement: Agreement, width: int) -> None:
    assert max(map(len, printed(agreement, width).splitlines())) <= width


def test_markdown_holds_the_same_figures(agreement: Agreement) -> None:
    text = to_markdown(agreement_blocks(agreement, "toy 1.0 against labels.csv"))
    kappa = agreement.fields[0].figures["kappa"]
    assert kappa.value is not None
    assert f"| Cohen's kappa | {kappa.n} | **{kappa.value:.3f}** |" in text
    assert "| People say ↓ judge says → | a | b | c |" in text
    assert "expected calibration error" in text
    assert "| judged | 40 | 98 % |" in text


def test_why_a_figure_is_missing_is_said() -> None:
    found = krino.agree([ok(0, match="a"), ok(1, match="a")], [{"id": f"case-{n}", "match": "a"} for n in (0, 1)])
    for text in (printed(found), to_markdown(agreement_blocks(found, "t"))):
        assert "everything got the same value" in " ".join(text.split())
    assert "where all are alike, Wilson's" in " ".join(printed(found).split())


def test_what_rounds_to_nought_has_no_sign() -> None:
    assert format_interval((-1e-17, -0.25)) == "0.000 to -0.250"


def test_hostile_labels_ids_and_raters_stay_plain_text() -> None:
    judgements = [{**ok(0, match="a"), "id": HOSTILE}, ok(1, match="b")]
    labels: list[dict[str, Any]] = [
        {"id": HOSTILE, "rater": HOSTILE, "match": HOSTILE, HOSTILE: 1},
        {"id": "case-1", "rater": "ben", "match": "b"},
        {"id": f"gone {HOSTILE}", "rater": "ben", "match": "b"},
    ]
    found = krino.agree(judgements, labels, draws=20)
    text = printed(found)
    assert "\x1b]0" not in text
    assert "\x1b[31m" not in text
    assert "[bold red]loud" in text.replace("\n", "")
    written = to_markdown(agreement_blocks(found, "t"))
    assert not re.search(r"(?<!\\)<(?!/?sub>)", written)  # every other bracket is escaped
