"""Writes the report's upper half, which needs no script: counts, scores, categories, reasons, rules, settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from urllib.parse import quote

import orjson

from krino.render.asked import Asked
from krino.render.charts import bar, histogram, stack
from krino.render.embed import Kept
from krino.render.html_tables import wide_table
from krino.render.markup import Markup, breakable, join, tag
from krino.render.slices_html import slices_section
from krino.render.stability_section import stability_section
from krino.results.codes import CodeField
from krino.results.numbers import NumberField
from krino.results.slices import SliceTable
from krino.results.summary import Summary, spent
from krino.results.wording import (
    FEW_NOTE,
    INTERVAL_NOTE,
    date_of,
    duration,
    figure,
    interval_text,
    judge_of,
    labeller_of,
    share,
)
from krino.runs.manifest import Manifest

SIGNS = {"ok": "✓", "failed": "–", "error": "✗"}
MEANINGS = {"ok": "judged", "failed": "case cannot be judged", "error": "judging went wrong"}

_SHOWN_CODES = 8
_READS_NO_PROMPT = ("local", "replay")


def header(manifest: Manifest) -> Markup:
    facts = [("Labeller", labeller_of(manifest)), ("Started", date_of(manifest)), ("State", _state(manifest))]
    facts.append(("Input", ", ".join(_names(manifest))))
    shown = [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts if value]
    return tag(
        "header",
        tag("p", "Krino · evaluation report", class_="eyebrow"),
        tag("h1", tag("span", judge_of(manifest))),
        tag("dl", *shown, class_="facts"),
        class_="top",
    )


def overview(
    summary: Summary, manifest: Manifest, rules: Mapping[str, str], slices: Sequence[SliceTable] = ()
) -> Markup:
    sections = [_outcome(summary, manifest), _scores(summary), _categories(summary), _failures(summary)]
    return join(*sections, stability_section(summary.stability), slices_section(slices), _rules(summary, rules))


def settings(manifest: Manifest) -> Markup:
    """How the run was made, folded away at the end."""
    settings = {**manifest.plan.model_dump(mode="json"), "inputs": _names(manifest)}
    plan = orjson.dumps(settings, option=orjson.OPT_INDENT_2).decode()
    return tag(
        "details",
        tag("summary", "How this run was made"),
        tag("pre", plan, class_="code"),
        tag("p", f"Krino {manifest.krino_version}, plan {manifest.plan.digest()}", class_="note"),
        class_="panel fold",
    )


def prompt_fold(asked: Asked | None, manifest: Manifest) -> Markup:
    """What a model is told in every case; the page shows it beside each case's own request."""
    if asked is None:
        return join()
    read = manifest.plan.labeller.get("kind") not in _READS_NO_PROMPT
    note = None if read else "No model read it in this run: the embedded labeller and recorded labels need no prompt."
    return tag(
        "details",
        tag("summary", "The judge's prompt"),
        tag("p", note, class_="note") if note else None,
        tag("pre", asked.prompt(), class_="code", id="prompt"),
        class_="panel fold",
    )


def kept_note(kept: Kept) -> Markup:
    """Says so where the page does not hold everything."""
    lines = []
    if kept.rows < kept.cases:
        lines.append(
            f"The table holds {kept.rows:,} of {kept.cases:,} cases: the others would make the page too large."
        )
    if kept.details < kept.cases:
        lines.append(
            f"Full details are kept for {kept.details:,} of {kept.cases:,} cases: {kept.details_not_ok:,} of the "
            f"{kept.not_ok:,} that are not ok, and the first {kept.details - kept.details_not_ok:,} that are. "
            "The run folder holds all; `krino show RUN ID` prints a case."
        )
    if kept.cut_texts_at is not None or kept.texts < kept.texts_made:
        letters = f", {kept.cut_texts_at:,} letters at most" if kept.cut_texts_at is not None else ""
        cases = f"{kept.texts:,} cases" if kept.texts < kept.texts_made else "each case"
        lines.append(
            f"The table has the first words of {cases}{letters}: the filter finds no others. "
            "`krino export RUN cases.csv` has them all."
        )
    if kept.requests < min(kept.requests_made, kept.details):
        lines.append(
            f"What a labeller is asked is kept for {kept.requests:,} cases: more would make the page too large."
        )
    return join(*(tag("p", line, class_="notice", role="note") for line in lines))


def _state(manifest: Manifest) -> str:
    return manifest.state if manifest.stop_reason is None else f"{manifest.state}: {manifest.stop_reason}"


def _outcome(summary: Summary, manifest: Manifest) -> Markup:
    counts = summary.counts
    parts = list(counts.model_dump().items())
    label = ", ".join(f"{count} {status}" for status, count in parts)
    legend = [
        tag(
            "li",
            tag("span", SIGNS[status], class_=f"sign {status}", aria_hidden="true"),
            tag("strong", f"{count:,}"),
            f" {status} ",
            tag("span", f"{share(count, counts.total)} · {MEANINGS[status]}", class_="soft"),
        )
        for status, count in parts
    ]
    return tag(
        "section",
        tag("h2", "Outcome", id="outcome"),
        tag(
            "div",
            tag("div", *_cards(summary, manifest), class_="cards"),
            stack(parts, f"Cases by status: {label}"),
            tag("ul", *legend, class_="legend"),
            class_="panel",
        ),
        aria_labelledby="outcome",
    )


def _cards(summary: Summary, manifest: Manifest) -> Iterator[Markup]:
    counts, decided, usage = summary.counts, summary.decided_by, spent(summary, manifest)
    yield _card("Cases", f"{counts.total:,}", f"{share(counts.ok, counts.total)} judged")
    if decided.total:
        yield _card(
            "Decided by rules alone", share(decided.rules, decided.total), f"of {decided.total:,} verdict fields"
        )
    kinds = len(summary.findings)
    yield _card("Findings", f"{sum(summary.findings.values()):,}", f"by {kinds} rule{'' if kinds == 1 else 's'}")
    if usage.calls or usage.cached:
        cost = "no prices given" if usage.cost is None else f"cost {usage.cost:,.4g}"
        yield _card("Model calls", f"{usage.calls:,}", f"{usage.cached:,} more from cache" if usage.cached else cost)
        yield _card("Tokens", f"{usage.tokens:,}", f"{usage.input_tokens:,} in, {usage.output_tokens:,} out")
        if usage.cached and usage.cost is not None:
            yield _card("Cost", f"{usage.cost:,.4g}", "as priced by the user")
    else:
        yield _card("Model calls", "0", "nothing was spent")
    yield _card("Labelling time", duration(usage.seconds), "summed over cases")


def _card(name: str, value: str, note: str) -> Markup:
    return tag(
        "div",
        tag("span", name, class_="name"),
        tag("span", value, class_="value"),
        tag("span", note, class_="soft"),
        class_="card",
    )


def _scores(summary: Summary) -> Markup | None:
    if not summary.numbers:
        return None
    few = any(item.few for item in summary.numbers)
    note = f"{INTERVAL_NOTE}{f', {FEW_NOTE}' if few else ''}. Only cases with status ok count."
    return tag(
        "section",
        tag("h2", "Scores", id="scores"),
        tag("div", *(_score(item) for item in summary.numbers), class_="grid"),
        tag("p", note, class_="note"),
        aria_labelledby="scores",
    )


def _score(item: NumberField) -> Markup:
    nulls = f", {item.nulls:,} null" if item.nulls else ""
    return tag(
        "figure",
        tag(
            "figcaption",
            tag("span", _spaced(item.name), class_="field", title=item.name),
            tag("span", figure(item.mean), class_="value"),
        ),
        histogram(item),
        tag(
            "p",
            tag("span", f"Mean of {item.n:,} case{'' if item.n == 1 else 's'}{nulls}"),
            tag(
                "span",
                "one value has no interval" if item.interval is None else f"95 %: {interval_text(item.interval)}",
            ),
            class_="soft",
        ),
        class_="panel score",
    )


def _categories(summary: Summary) -> Markup | None:
    if not summary.codes:
        return None
    varied = [item for item in summary.codes if len(item.counts) > 1]
    constant = [item for item in summary.codes if len(item.counts) == 1]
    same = "; ".join(f"{_spaced(item.name)} is {next(iter(item.counts))} ({item.n:,})" for item in constant)
    return tag(
        "section",
        tag("h2", "Categories", id="categories") if varied else None,
        tag("div", *(_category(item) for item in varied), class_="grid") if varied else None,
        tag("p", f"Always the same: {same}.", class_="note") if constant else None,
        aria_labelledby="categories" if varied else None,
        aria_label=None if varied else "Categories",
    )


def _category(item: CodeField) -> Markup:
    most = max(item.counts.values())
    shown = list(item.counts.items())[:_SHOWN_CODES]
    rows = [
        tag("li", tag("span", breakable(code)), tag("strong", f"{count:,}"), bar(count, most), class_="count")
        for code, count in shown
    ]
    more = len(item.counts) - len(shown)
    nulls = f" · {item.nulls:,} null" if item.nulls else ""
    return tag(
        "figure",
        tag("figcaption", tag("span", _spaced(item.name), class_="field", title=item.name)),
        tag("ul", *rows, class_="counts"),
        tag("p", f"{item.n:,} cases{nulls}{f' · {more} more values' if more > 0 else ''}", class_="soft"),
        class_="panel",
    )


def _failures(summary: Summary) -> Markup | None:
    if not summary.messages:
        return None
    rows = [
        tag(
            "tr",
            tag("td", _status(group.status)),
            tag("td", f"{group.count:,}", class_="figure"),
            tag("td", group.text, class_="text"),
            tag("td", tag("a", group.example, href=f"#case={quote(group.example, safe='')}")),
        )
        for group in summary.messages
    ]
    heads = ("Status", "Cases", "Why", "Example")
    return tag(
        "section",
        tag("h2", "Why cases were not judged", id="failures"),
        wide_table(heads, rows, figures={"Cases"}),
        tag(
            "p",
            "Alike messages are counted together: they differ in numbers and quoted parts. The first is shown.",
            class_="note",
        ),
        aria_labelledby="failures",
    )


def _status(status: str) -> Markup:
    return tag("span", tag("span", SIGNS.get(status, ""), aria_hidden="true"), f" {status}", class_=f"badge {status}")


def _rules(summary: Summary, rules: Mapping[str, str]) -> Markup | None:
    fired = {rule: (summary.rules.get(rule, 0), summary.findings.get(rule, 0)) for rule in rules}
    for rule in [*summary.rules, *summary.findings]:
        fired.setdefault(rule, (summary.rules.get(rule, 0), summary.findings.get(rule, 0)))
    rows = [
        tag(
            "tr",
            tag("th", tag("code", rule), scope="row"),
            tag("td", rules.get(rule, ""), class_="text"),
            tag("td", f"{given:,}", class_="figure"),
            tag("td", f"{found:,}", class_="figure"),
        )
        for rule, (given, found) in fired.items()
        if given or found
    ]
    if not rows:
        return None
    return tag(
        "details",
        tag("summary", f"Rules that fired ({len(rows)})"),
        wide_table(("Rule", "What it says", "Fields given", "Findings"), rows, figures={"Fields given", "Findings"}),
        class_="panel fold",
    )


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def _names(manifest: Manifest) -> list[str]:
    """File names alone: a report is passed on, and where its maker keeps files is nobody's business."""
    return [PurePath(name).name or name for name in manifest.plan.inputs]
