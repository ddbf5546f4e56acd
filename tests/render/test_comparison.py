"""A comparison on a terminal and in Markdown."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

import krino
from krino.render.comparison import comparison_blocks
from krino.render.markdown import to_markdown
from krino.render.terminal import show
from krino.results.comparison.compare import compare
from krino.results.comparison.result import Comparison
from made_judgements import HOSTILE
from made_runs import Row, failed_row, make_run, row


def made(tmp_path: Path) -> Comparison:
    a = [row(f"c{n}", roll_up="pass", score=0.5, kind="steady") for n in range(60)]
    b = [row(f"c{n}", roll_up="fail" if n < 12 else "pass", score=0.5 + n % 2 / 10, kind="steady") for n in range(60)]
    return compare(make_run(tmp_path / "a", a), make_run(tmp_path / "b", [*b[:-1], failed_row("c59")]))


def printed(comparison: Comparison, width: int = 100) -> str:
    out = io.StringIO()
    show(Console(file=out, width=width), comparison_blocks(comparison))
    return out.getvalue()


def test_the_terminal_shows_scores_flips_status_and_spending(tmp_path: Path) -> None:
    text = printed(made(tmp_path))
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert any(line.startswith("score 59 0.500 0.549 +0.049") and line.endswith("higher") for line in lines)
    assert any(
        line.startswith("roll_up: pass 100.0 % 79.7 % −20.3") and line.endswith("<0.001 lower") for line in lines
    )
    assert "roll_up pass → fail 12 c0, c1, c2, c3, c4" in lines
    assert "status ok → failed 1 c59" in lines
    assert any(line.startswith("model calls 60 60") for line in lines)
    assert any(line.startswith("kind: no difference shown, no case flipped (±") for line in lines)


def test_no_difference_is_said_with_what_could_have_been_seen(tmp_path: Path) -> None:
    a = make_run(tmp_path / "a", [row(f"c{n}", score=n % 2) for n in range(40)])
    b = make_run(tmp_path / "b", [row(f"c{n}", score=n // 2 % 2) for n in range(40)])
    for text in (printed(compare(a, b)), to_markdown(comparison_blocks(compare(a, b)))):
        assert "no difference shown (±0.2" in text


def test_markdown_holds_the_same(tmp_path: Path) -> None:
    text = to_markdown(comparison_blocks(made(tmp_path)))
    assert "| roll\\_up: pass | 100.0 % | 79.7 % | −20.3 |" in text
    assert "| status | ok → failed | 1 | c59 |" in text
    assert "⚠ B has 1 case without a verdict" in text


def test_text_from_cases_can_do_nothing(tmp_path: Path) -> None:
    """Ids and labels are the user's own words, or somebody else's."""
    a = [row(HOSTILE, kind="[x](https://evil.example)"), *(row(f"c{n}", kind="A") for n in range(9))]
    b = [row(HOSTILE, kind="a|b @team"), *(row(f"c{n}", kind="A") for n in range(9))]
    comparison = compare(make_run(tmp_path / "a", a), make_run(tmp_path / "b", b))
    assert "\x1b" not in printed(comparison) and "[bold red]loud" in printed(comparison, 400)
    text = to_markdown(comparison_blocks(comparison))
    assert "<script" not in text.replace("\\<", "") and "https://evil" not in text and "@team" not in text
    assert "a\\|b" in text, "a bar in a label ends no cell"


def test_very_many_rows_are_cut_in_markdown(tmp_path: Path) -> None:
    def rows(labels: str) -> list[Row]:
        verdicts: list[Row] = [{f"field{k}": labels[n < 6] for k in range(40)} for n in range(12)]
        return [row(f"c{n}", **verdict) for n, verdict in enumerate(verdicts)]

    a, b = rows("AA"), rows("AB")
    text = to_markdown(comparison_blocks(compare(make_run(tmp_path / "a", a), make_run(tmp_path / "b", b))))
    assert "… and 10 more." in text


def test_at_eighty_columns_neither_names_nor_what_is_said_of_them_vanish(tmp_path: Path) -> None:
    """Pipes and build servers have no wider line."""
    rows = [
        [
            row(f"c{n}", citation_correctness="CORRECT" if n % 9 < good else "PARTLY_CORRECT", faithfulness=good / 10)
            for n in range(900)
        ]
        for good in (7, 3)
    ]
    found = compare(*(make_run(tmp_path / name, given) for name, given in zip("ab", rows, strict=True)))
    text = printed(found, width=80)
    assert all(len(line) <= 80 for line in text.splitlines())
    assert all(head in text for head in ("Label", "flips", "95 % interval", " p", "B is"))
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert any(line.startswith("citation_correctness: CORRECT 77.8 % 33.3 % −44.4 ") for line in lines)
    assert any(line.startswith("faithfulness 900 0.700 0.300 −0.400") and line.endswith("lower") for line in lines)
    assert any(line.endswith("−400 +0 <0.001") for line in lines)
    assert "McNemar" in printed(found, width=20), "a line too narrow for anything is no reason to stop"


def test_a_comparison_shows_itself_in_a_notebook_with_hostile_ids_escaped(tmp_path: Path) -> None:
    make_run(tmp_path / "a", [row(f"{HOSTILE}{n}", roll_up="pass") for n in range(3)])
    make_run(tmp_path / "b", [row(f"{HOSTILE}{n}", roll_up="fail") for n in range(3)])
    found = krino.compare(tmp_path / "a", tmp_path / "b")
    page = str(found._repr_html_())
    assert 'class="krino"' in page and "<script>alert" not in page
    assert type(found) is Comparison is krino.Comparison
