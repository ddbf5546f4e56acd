"""Labelling in a real browser: two raters, blind, at both depths, by keyboard; the agreement follows by itself."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

import krino
from browser import CONTRAST, NEEDS_CHROMIUM, Tab, acting, chromium, skips_a_heading, tab
from label_making import SECRET, Says, filled, make_rag_run, rag_cases, rag_labels

pytestmark = [NEEDS_CHROMIUM, pytest.mark.asyncio(loop_scope="module")]

ATTACK = "<img src=x onerror=hacked=1><script>hacked=1</script>\"'>{{7*7}}"

LONG: dict[str, Any] = {
    "id": "long",
    "question": "When was the tower built?",
    "context": [f"The tower number {number} was built in 1958. It stands in Brussels. " * 20 for number in range(3)],
    "answer": "\n".join(["Hello!", *(f"- Point {number}: it was built in 1958 [1]." for number in range(40))]),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("browser") / "runs"
    make_rag_run(folder / "rag", 2)
    case = {**rag_cases(1)[0], "id": ATTACK, "question": f"When was the tower built? {ATTACK}"}
    krino.run("rag", [case], labeller=Says(lambda _: rag_labels(why=ATTACK)), into=folder / "hostile")
    krino.run("rag", [LONG], labeller="local", into=folder / "long")
    return folder


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def tabs(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Tab, Tab]]:
    with chromium(tmp_path_factory.mktemp("profile")) as port:
        async with tab(port) as one, tab(port) as two:
            yield one, two


async def on(page: Tab, words: str) -> None:
    """A whole page that says so."""
    await page.until(f"document.readyState === 'complete' && document.body.innerText.includes({json.dumps(words)})")


async def begin(page: Tab, address: str, run: str, name: str) -> None:
    await page.open(f"{address}/runs/{run}/label?who=1")
    await page.run("document.querySelector('#name').value = ''; document.querySelector('#name').focus()")
    await page.type(name)
    await page.press("Enter")
    await on(page, "You label as")


async def fill(page: Tab, answer: dict[str, Any]) -> None:
    """Puts labels into the form as a hand would: boxes are ticked, texts written."""
    await page.run(
        f"""(() => {{
            const answer = {json.dumps(answer)};
            for (const box of document.querySelectorAll('#answer [name]')) {{
                if (!(box.name in answer) || box.type === 'hidden') continue;
                const wanted = [].concat(answer[box.name]);
                if (box.type === 'radio' || box.type === 'checkbox') box.checked = wanted.includes(box.value);
                else box.value = wanted[0];
            }}
        }})()"""
    )


async def labels_blind(page: Tab, address: str, name: str, figure: str, label: str) -> None:
    """One person, one case after the other, by keyboard; then the labels themselves of the first case."""
    await begin(page, address, "rag", name)
    first = await page.run("document.querySelector('[data-key=n]').href")
    await page.press("n")
    await on(page, "You see this case because")
    for depth in ("fields", "labels"):
        await page.open(first.replace("fields", depth))
        assert SECRET not in await page.run("document.documentElement.outerHTML")
    await page.open(first)
    await page.press(figure)
    chosen = await page.run("document.querySelector('[name=\"f.faithfulness\"]:checked').parentElement.innerText")
    await page.press("n")
    await on(page, "Saved.")
    await page.open(first.replace("fields", "labels"))
    await fill(page, filled(rag_labels(label)))
    await page.run("document.querySelector('#answer').requestSubmit(document.querySelector('#answer [data-key=n]'))")
    await on(page, "Saved.")
    assert chosen


async def test_two_raters_label_blind_at_both_depths_and_the_agreement_follows(
    tabs: tuple[Tab, Tab], address: str
) -> None:
    page, watcher = tabs
    await watcher.open(f"{address}/runs/rag/agreement")
    await on(watcher, "Nobody has labelled")
    await labels_blind(page, address, "Anna", "5", "supported")
    await on(watcher, "1 label of 1 case")
    assert "among people" in await watcher.run("document.querySelector('#live').innerText")
    before = await watcher.run("document.querySelector('#live table').innerText")
    await labels_blind(page, address, "Ben", "1", "unsupported")
    await on(watcher, "2 labels of 1 case")
    assert await watcher.run("document.querySelector('#live table').innerText") != before
    for depth, words in (("fields", "2 labels of 1 case"), ("labels", "2 labels of 1 case")):
        await watcher.open(f"{address}/runs/rag/agreement?depth={depth}")
        await on(watcher, words)


async def test_a_cell_opens_its_cases_and_the_verdict_is_shown_to_who_asks(tabs: tuple[Tab, Tab], address: str) -> None:
    page, _ = tabs
    await begin(page, address, "rag", "Cleo")
    await page.press("n")
    await on(page, "You see this case because")
    await page.press("5")
    await page.press("n")
    await on(page, "Saved.")
    await page.open(f"{address}/runs/rag/agreement")
    await page.run("document.querySelector('.confusion a').click()")
    await on(page, "Back to the agreement")
    await page.run("document.querySelector('table a').click()")
    await on(page, "Show the verdict")
    assert SECRET not in await page.run("document.documentElement.outerHTML")
    await page.run("document.querySelector('form[action*=\"/show\"]').requestSubmit()")
    await on(page, "What the judge says")
    assert SECRET in await page.run("document.documentElement.outerHTML")


async def test_a_digit_chooses_and_stays_enter_goes_on_and_nothing_is_saved_by_it(
    tabs: tuple[Tab, Tab], address: str
) -> None:
    page, _ = tabs
    active = "document.querySelector('.question.active legend').innerText.trim().toLowerCase()"
    checked = "[...document.querySelectorAll('#answer input:checked')].map((box) => `${box.name} ${box.value}`)"
    await begin(page, address, "rag", "Kim")
    await page.press("n")
    await on(page, "You see this case because")
    case = await page.run("location.pathname")
    assert await page.run(active) == "faithfulness"
    await page.press("2")
    assert await page.run(active) == "faithfulness"
    assert await page.run(checked) == ["f.faithfulness 0.25"]
    assert "0.25" in await page.run("document.querySelector('#chosen').textContent")
    await page.press("3")
    assert await page.run(checked) == ["f.faithfulness 0.5"]
    await page.press("Enter")
    assert await page.run(active) == "context relevance"
    await page.press("5")
    assert await page.run(checked) == ["f.faithfulness 0.5", "f.context_relevance 1.0"]
    count = await page.run("document.querySelectorAll('[data-question]').length")
    for _ in range(count - 1):
        await page.press("Enter")
    assert await page.run("document.activeElement === document.querySelector('#answer [data-key=n]')")
    assert await page.run("location.pathname") == case
    await page.press("Enter")
    await on(page, "Saved.")
    await page.open(f"{address}{case}")
    assert await page.run(checked) == ["f.faithfulness 0.5", "f.context_relevance 1.0"]


async def test_n_saves_and_skips_nothing_where_nothing_is_chosen(tabs: tuple[Tab, Tab], address: str) -> None:
    page, _ = tabs
    await begin(page, address, "rag", "Lou")
    await page.press("n")
    await on(page, "You see this case because")
    case = await page.run("location.pathname")
    await page.press("n")
    await on(page, "Not saved yet")
    assert await page.run("location.pathname") == case
    await page.open(f"{address}/runs/rag/label")
    assert "skipped" not in await page.run("document.querySelector('.panel').innerText")


async def test_answer_passages_and_form_are_on_one_screen(tabs: tuple[Tab, Tab], address: str) -> None:
    page, _ = tabs
    await begin(page, address, "long", "Mia")
    await page.call("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1, mobile=False)
    try:
        await page.press("n")
        await on(page, "You see this case because")
        places = await page.run(
            "[...document.querySelectorAll('.side-by-side > section')].map((node) => {"
            "const {left, top, right, bottom} = node.getBoundingClientRect(); return [left, top, right, bottom]; })"
        )
        assert len(places) == 3
        for (_, top, right, bottom), (left, *_) in zip(places, [*places[1:], (1280,)], strict=True):
            assert right <= left
            assert 0 <= top < bottom <= 800
            assert bottom - top > 500
        shown = await page.run("document.querySelector('.side-by-side > section').innerText")
        assert LONG["answer"] in shown
        for scrolled in (0, 1):
            section = f"document.querySelectorAll('.side-by-side > section')[{scrolled}]"
            assert await page.run(f"{section}.scrollTo(0, 100), {section}.scrollTop") == 100
        assert await page.run("scrollY") == 0
    finally:
        await page.call("Emulation.clearDeviceMetricsOverride")


async def test_undo_by_keyboard_brings_the_case_back(tabs: tuple[Tab, Tab], address: str) -> None:
    page, _ = tabs
    await begin(page, address, "rag", "Dora")
    await page.press("n")
    await on(page, "You see this case because")
    first = await page.run("location.pathname")
    await page.press("k")
    await page.until(f"location.pathname !== {json.dumps(first)} && document.readyState === 'complete'")
    await page.press("u")
    await page.until(f"location.pathname === {json.dumps(first)} && document.readyState === 'complete'")


async def test_a_hostile_name_note_and_case_do_nothing(tabs: tuple[Tab, Tab], address: str) -> None:
    page, _ = tabs
    await page.call(
        "Page.addScriptToEvaluateOnNewDocument",
        source="window.stopped = 0; document.addEventListener('securitypolicyviolation', () => { stopped += 1; })",
    )
    harmless = "typeof hacked === 'undefined' && stopped === 0 && !document.querySelector('[onerror]')"
    await begin(page, address, "hostile", ATTACK)
    await page.press("n")
    await on(page, "You see this case because")
    case = await page.run("location.href")
    await page.run(f"document.querySelector('#note').value = {json.dumps(ATTACK)}")
    await page.press("5")
    await page.run("document.querySelector('#answer').requestSubmit()")
    await on(page, "every judged case")
    await page.open(case)
    await page.run("document.querySelector('form[action*=\"/show\"]').requestSubmit()")
    await on(page, "What the judge says")
    assert await page.run(harmless)
    for path in ("label", "label?who=1", "agreement", "agreement/cases?field=faithfulness&people=1&judge=1"):
        await page.open(f"{address}/runs/hostile/{path}")
        assert await page.run(harmless), path
        assert "{{7*7}}" in await page.run("document.body.textContent + (document.querySelector('#name')?.value ?? '')")


async def test_the_pages_can_be_used_by_everybody(tabs: tuple[Tab, Tab], address: str) -> None:
    """Legible in light and dark, named for a screen reader, and no wider than a phone."""
    page, _ = tabs
    await begin(page, address, "rag", "Eve")
    case = await page.run("document.querySelector('[data-key=n]').getAttribute('href')")
    paths = ("/runs/rag/label?who=1", "/runs/rag/label", case, case.replace("fields", "labels"), "/runs/rag/agreement")
    for path in paths:
        for scheme in ("light", "dark"):
            await page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            await page.open(f"{address}{path}")
            await page.run("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
            assert await page.run(CONTRAST) == [], path
        roles, nameless = await acting(page)
        assert nameless == [], path
        assert "main" in roles
        assert not await skips_a_heading(page), path
        await page.call("Emulation.setDeviceMetricsOverride", width=360, height=800, deviceScaleFactor=1, mobile=True)
        assert await page.run("document.documentElement.scrollWidth") <= 360, path
        await page.call("Emulation.clearDeviceMetricsOverride")
