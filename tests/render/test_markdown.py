"""The summary for a pull request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from krino.render.markdown import escape, to_markdown
from krino.render.summary import summary_blocks
from krino.results.summary import summarise
from made_judgements import HOSTILE, error, failed, manifest, many, ok


def written(*cases: dict[str, Any]) -> str:
    return to_markdown(summary_blocks(summarise(cases), manifest(), Path("runs/toy")))


def test_markdown_shows_counts_scores_categories_and_reasons() -> None:
    text = written(*many(40), error(40, "the model was silent"))
    assert text.startswith("## toy 1.0\n") and "| cases | 41 | share |" in text and "| ok | 38 | 93 % |" in text
    assert "| failed | 2 | 5 % |" in text
    assert "| score | 38 | – | **0.190** |" in text
    assert "| kind | 38 | A 20 (53 %) · B 18 (47 %) |" in text
    assert "| ✗ error | 1 | the model was silent | case-40 |" in text
    assert "95 % intervals of the mean" in text


def test_case_text_opens_no_link_mention_table_cell_or_html() -> None:
    text = written(failed(0, f"{HOSTILE} [x](https://evil.example) @team www.evil.example a|b"))
    assert "<script" not in text.replace("\\<", "")
    assert "\\[x\\](" in text
    assert "https://evil" not in text and "@team" not in text and "www.evil" not in text
    assert "a\\|b" in text and "\x1b" not in text


def test_escaped_text_stays_on_one_line_and_short() -> None:
    assert escape("a\n\n# b") == "a \\# b"
    assert len(escape("x" * 1_000)) == 240


def test_a_run_without_verdicts_has_a_summary() -> None:
    assert "| ok | 0 | 0 % |" in written(failed())
    decided = written(ok(score=1.0))
    assert "Decided: 100 % of 1 verdict fields by rules alone" in decided and "the rest" not in decided
