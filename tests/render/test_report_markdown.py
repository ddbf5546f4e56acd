"""The summary for a pull request."""

from __future__ import annotations

from krino.render.markdown import escape, to_markdown
from krino.results.summary import summarise
from made_judgements import HOSTILE, error, failed, manifest, many, ok


def test_markdown_shows_counts_scores_categories_and_reasons() -> None:
    text = to_markdown(summarise([*many(40), error(40, "the model was silent")]), manifest())
    assert "### toy 1.0: 38 of 41 cases judged" in text
    assert "| failed | 2 | 5 % |" in text
    assert "| score | 38 | 0 | **0.190** |" in text
    assert "| kind | 38 | A 20 · B 18 |" in text
    assert "| error | 1 | the model was silent |" in text
    assert "95 % intervals of the mean" in text


def test_case_text_opens_no_link_mention_table_cell_or_html() -> None:
    text = to_markdown(
        summarise([failed(0, f"{HOSTILE} [x](https://evil.example) @team www.evil.example a|b")]), manifest()
    )
    assert "<script" not in text.replace("\\<", "")
    assert "\\[x\\](" in text
    assert "https://evil" not in text and "@team" not in text and "www.evil" not in text
    assert "a\\|b" in text and "\x1b" not in text


def test_escaped_text_stays_on_one_line_and_short() -> None:
    assert escape("a\n\n# b") == "a \\# b"
    assert len(escape("x" * 1_000)) == 160


def test_a_run_without_verdicts_has_a_summary() -> None:
    assert "0 of 1 cases judged" in to_markdown(summarise([failed()]), manifest())
    assert "Decided by rules alone: 100 %" in to_markdown(summarise([ok(score=1.0)]), manifest())
