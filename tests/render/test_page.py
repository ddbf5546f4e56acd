"""The report in a real browser: sorted, filtered, paged, read by keyboard, safe, and legible in light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from browser import CONTRAST, NEEDS_CHROMIUM, Tab, acting, skips_a_heading
from krino.blocks import Block, DataTable
from krino.contract import Judgement
from krino.render.report import write_report
from krino.runs.manifest import Counts, JudgeCard
from made_judgements import HOSTILE, error, failed, manifest, many, ok
from toy_judge import ToyCase, ToyJudge

pytestmark = [
    NEEDS_CHROMIUM,
    pytest.mark.asyncio(loop_scope="module"),
]

SIXTY = 60
ATTACK = f"{HOSTILE}<svg onload=hacked=1><script>hacked=1</script><a href=javascript:hacked=1>x</a>"
ROWS = "[...document.querySelectorAll('#table tbody td.id a')].map((a) => a.textContent)"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Sixty cases: scores from 0.59 down to 0, every tenth failed, one hostile, all with their request."""
    folder = tmp_path_factory.mktemp("report")
    cases: list[dict[str, Any]] = []
    for n in range(SIXTY):
        judgement = failed(n) if n % 10 == 9 else ok(n, score=(59 - n) / 100, kind="AB"[n % 2], labelled=n == 0)
        judgement["roll_up"] = None if n % 10 == 9 else "pass" if n else "review"
        cases.append({**judgement, "case": {"text": f"the text of {n}"}})
    cases[5] = {**ok(5, note=ATTACK, score=0.54), "id": ATTACK, "evidence": {"score": [ATTACK]}}
    cases[5] |= {"case": {"text": ATTACK}, "labels": {ATTACK: ATTACK}}
    cases[6] = error(6, ATTACK, raw_reply=ATTACK)
    cases[7]["case"] = {"text": ""}
    about = JudgeCard(rules={"R1": "The score is what it is."})
    return write_report(folder, manifest(about=about), cases, ToyJudge()).as_uri()


@pytest_asyncio.fixture(loop_scope="module")
async def page(window: Tab, address: str) -> Tab:
    """The report, opened afresh on an ordinary screen."""
    await window.call("Emulation.setEmulatedMedia", media="", features=[])
    await window.call("Emulation.clearDeviceMetricsOverride")
    await window.open(address)
    return window


async def head(page: Tab, name: str) -> str:
    """Clicks the heading of a column and gives what it then says to a screen reader."""
    script = f"""(() => {{
        const head = [...document.querySelectorAll('#table th')].find((th) => th.textContent === '{name}');
        head.querySelector('button').click();
        return head.getAttribute('aria-sort');
    }})()"""
    return str(await page.run(script))


async def search(page: Tab, text: str) -> list[str]:
    await page.run("document.getElementById('query').value = ''; document.getElementById('query').focus()")
    before = await page.run("document.getElementById('found').textContent = 'waiting'")
    await page.type(text)
    await page.until(f"document.getElementById('found').textContent !== '{before}'")
    return list(await page.run(ROWS))


async def test_a_column_sorts_up_then_down_then_not(page: Tab) -> None:
    first = await page.run(ROWS)
    assert first[:2] == ["case-0", "case-1"]
    assert await head(page, "score") == "ascending"
    assert (await page.run(ROWS))[:2] == ["case-58", "case-57"]
    assert await head(page, "score") == "descending"
    assert (await page.run(ROWS))[0] == "case-0"
    assert await head(page, "score") == "none"
    assert await page.run(ROWS) == first


async def test_what_has_no_score_stands_last_either_way(page: Tab) -> None:
    await page.run(
        "const size = document.getElementById('size'); size.value = '100'; size.dispatchEvent(new Event('change'))"
    )
    for _ in range(2):
        await head(page, "score")
        assert set((await page.run(ROWS))[-7:]) == {"case-6", *(f"case-{n}" for n in range(9, SIXTY, 10))}


async def test_words_filter_the_rows_and_the_count_is_told(page: Tab) -> None:
    assert await search(page, "case-4") == ["case-4", *(f"case-{n}" for n in range(40, 50))]
    assert await page.run("document.getElementById('found').textContent") == "11 of 60 cases"
    assert await search(page, "no such thing") == []
    assert "No case to show" in await page.run("document.getElementById('table').textContent")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("score<0.03", ["case-57", "case-58"]),
        ("score<=0.03 kind=a", ["case-56", "case-58"]),
        ("score>0.55 kind!=A", ["case-1", "case-3"]),
        ("status=error", ["case-6"]),
        ("status=failed case-1", ["case-19"]),
        ("roll_up=review", ["case-0"]),
        ("nonsense<3", []),
    ],
)
async def test_columns_can_be_asked_for(page: Tab, query: str, found: list[str]) -> None:
    assert await search(page, query) == found


async def test_a_status_can_be_left_out(page: Tab) -> None:
    await page.run("document.querySelector('#statuses input').click()")
    assert await page.run(ROWS) == ["case-6", *(f"case-{n}" for n in range(9, SIXTY, 10))]


async def test_pages_are_turned(page: Tab) -> None:
    assert len(await page.run(ROWS)) == 25
    await page.run("document.getElementById('forth').click()")
    assert (await page.run(ROWS))[0] == "case-25"
    await page.run("document.getElementById('last').click()")
    assert (await page.run(ROWS))[-1] == "case-59"
    assert await page.run("document.getElementById('forth').disabled")
    assert await page.run("document.getElementById('where').textContent") == "Page 3 of 3"


async def test_everything_can_be_done_with_the_keyboard(page: Tab) -> None:
    for _ in range(80):  # from the top of the page: the tab key alone must reach the first case
        await page.press("Tab")
        if await page.run("document.activeElement.textContent") == "case-0":
            break
    await page.press("Enter")
    await page.until("document.getElementById('case').open")
    assert await page.run("document.activeElement.id") == "case-body"
    await page.press("ArrowRight")
    await page.until("document.getElementById('case-title').textContent === 'case-1'")
    await page.press("ArrowLeft")
    await page.until("document.getElementById('case-title').textContent === 'case-0'")
    await page.press("Escape")
    await page.until("!document.getElementById('case').open")
    assert await page.run("document.activeElement.textContent") == "case-0"


async def test_the_first_tab_offers_to_skip_to_the_cases(page: Tab) -> None:
    await page.press("Tab")
    assert await page.run("document.activeElement.getAttribute('href')") == "#cases"


async def test_a_case_has_an_address_of_its_own(page: Tab, address: str) -> None:
    await page.open(f"{address}#case=case-42")
    assert await page.run("document.getElementById('case-title').textContent") == "case-42"
    await page.open(f"{address}#case=gone")
    assert not await page.run("document.getElementById('case').open")


async def test_a_case_shows_verdict_evidence_labels_rule_and_prompt(page: Tab, address: str) -> None:
    await page.open(f"{address}#case=case-0")
    text = await page.run("document.getElementById('case-body').textContent")
    for part in ("review", "0.59", "seen in passage 1", "water is wet", "R1", "The score is what it is."):
        assert part in text
    assert "Label the text: good or bad." in text  # the judge's prompt
    assert "[[TAG text]]\nthe text of 0\n[[/TAG]]" in text  # the case's own request


async def test_a_case_about_which_nothing_was_asked_says_so(page: Tab, address: str) -> None:
    await page.open(f"{address}#case=case-7")
    assert "Nothing was asked about this case" in await page.run("document.getElementById('case-body').textContent")


async def test_hostile_text_is_shown_and_never_runs(page: Tab) -> None:
    for row in (5, 6):
        await page.run(f"document.querySelectorAll('#table tbody td.id a')[{row}].click()")
        await page.until("document.getElementById('case').open")
        await page.run("document.querySelectorAll('#case-body details').forEach((fold) => { fold.open = true; })")
        assert "<script>" in await page.run("document.getElementById('case-body').textContent")
        assert await page.run("document.querySelectorAll('#case-body :is(script, img, iframe, a, b)').length") == 0
        await page.press("Escape")
        await page.until("!document.getElementById('case').open")
    assert await page.run("typeof hacked") == "undefined"
    assert not [event for event in page.events if event["method"] == "Page.javascriptDialogOpening"]


async def test_the_page_asks_for_nothing(page: Tab) -> None:
    assert await page.run("performance.getEntriesByType('resource').length") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_text_is_legible_in_light_and_dark(page: Tab, address: str, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    await page.call("Emulation.setEmulatedMedia", features=features)
    dark = await page.run("getComputedStyle(document.body).backgroundColor")
    assert (dark == "rgb(16, 20, 27)") is (scheme == "dark")
    assert await page.run(CONTRAST) == []
    await page.open(f"{address}#case=case-0")
    await page.run("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    assert await page.run(CONTRAST) == []


async def test_a_screen_reader_has_a_name_for_everything_it_can_act_on(page: Tab, address: str) -> None:
    await page.open(f"{address}#case=case-0")
    roles, nameless = await acting(page)
    assert {"button", "dialog"} <= roles
    assert nameless == []


async def test_headings_do_not_skip_a_level(page: Tab, address: str) -> None:
    await page.open(f"{address}#case=case-0")
    assert not await skips_a_heading(page)


async def test_print_leaves_out_what_cannot_be_used_on_paper(page: Tab, address: str) -> None:
    await page.call("Emulation.setEmulatedMedia", media="print")
    visible = "document.querySelector('{}').checkVisibility()"
    assert not await page.run(visible.format("#controls")) and not await page.run(visible.format(".pager"))
    assert await page.run(visible.format("#table")) and await page.run(visible.format(".histogram"))
    await page.open(f"{address}#case=case-0")
    assert await page.run(visible.format("#case-body")) and not await page.run(visible.format("main"))


async def test_a_narrow_screen_does_not_scroll_sideways(page: Tab, address: str) -> None:
    await page.call("Emulation.setDeviceMetricsOverride", width=360, height=800, deviceScaleFactor=1, mobile=True)
    for place in (address, f"{address}#case=case-0"):
        await page.open(place)
        assert await page.run("document.documentElement.scrollWidth <= 360")
        assert await page.run("document.getElementById('case').scrollWidth <= 360")


# --- what the cases are about ----------------------------------------------------------------------

LONG = "Which of the towers " + "that stand in the harbour " * 12 + "has a lighthouse?"
WIDE = (1_400, 900)
PHONE = (390, 800)
BOX = "document.querySelector('#browser .scroll')"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Cases with question and answer, scores on a scale, words beside codes, and the steps of a trace."""
    cases: list[dict[str, Any]] = []
    for n, value in enumerate((0.1, 0.6, 0.9)):
        inputs = {"question": f"How tall is tower {n}?", "answer": f"It is {n} metres tall. <b>bold</b>"}
        cases.append({**ok(n, score=value, other=value, kind="AB"[n % 2]), "inputs": inputs})
    cases[1]["inputs"]["question"] = LONG
    cases[0]["metadata"] = {"place": "Ghent", "second": 2, "third": 3, "fourth": 4}
    cases[1]["findings"] = [{"rule": "N1", "text": "detours were not looked for", "where": "score"}]
    cases[2]["findings"] = [{"rule": "N1", "text": "names Ostend, which stands nowhere", "where": "sentence 2"}]
    cases[2]["unread"] = [{"where": "answer", "text": "<i>Take two.</i>", "why": "the labeller called it no claim"}]
    cases.append({**failed(3), "inputs": {"question": "Is it mute?"}})
    call = "search(" + "averylongargumentwithoutablank" * 12 + ")"
    why = "nothing used what it found, and nobody had asked for it in the first place either"
    steps = DataTable("Steps", ("step", "kind", "what", "label", "why"), [("1", "tool", call, "speculative", why)])

    class Told(ToyJudge):
        def view(self, case: ToyCase, facts: int, judgement: Judgement) -> Sequence[Block]:
            return [steps] if judgement.id == "case-0" else []

    about = JudgeCard(rules={"R1": "The score is what it is.", "N1": "A name that stands in no passage."})
    about.verdict_schema = {"properties": {"score": {"type": "number", "minimum": 0, "maximum": 1}}}
    folder = tmp_path_factory.mktemp("told")
    told = [{**case, "case": {"text": "good"}} for case in cases]
    return write_report(folder, manifest(about=about), told, Told()).as_uri()


async def opened(window: Tab, address: str, size: tuple[int, int] = WIDE) -> Tab:
    await window.call("Emulation.setEmulatedMedia", media="", features=[])
    metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
    await window.call("Emulation.setDeviceMetricsOverride", **metrics)
    await window.open(address)
    return window


async def test_the_list_shows_question_and_answer_as_text_and_finds_their_words(window: Tab, told: str) -> None:
    page = await opened(window, told)
    shown = await page.run("[...document.querySelectorAll('#table td.about')].map((cell) => cell.innerText)")
    assert "How tall is tower 0?" in shown[0] and "<b>bold</b>" in shown[0]
    assert await search(page, "tower 2?") == ["case-2"]
    assert await search(page, "2 METRES") == ["case-2"], "of the answer, in capitals or not"
    assert await search(page, "mute") == ["case-3"], "of a case that failed"
    assert await search(page, "lighthouse") == ["case-1"]
    assert await page.run("document.querySelector('#table td.about mark').innerText") == "lighthouse"
    seen = """(() => {
        const bottom = (name) => document.querySelector(`#table td.about ${name}`).getBoundingClientRect().bottom;
        return bottom('mark') <= bottom('.line') + 1;
    })()"""
    assert await page.run(seen), "a word far inside is shown with what stands around it"


async def test_scores_are_coloured_by_their_scale_and_say_so_in_words(window: Tab, told: str) -> None:
    page = await opened(window, told)
    found = "[...document.querySelectorAll('#table .grade')]"
    assert await page.run(f"{found}.map((node) => [node.className, node.title, node.textContent])") == [
        ["grade low", "low on its scale (0 to 1)", "0.1"],
        ["grade middle", "in the middle of its scale (0 to 1)", "0.6"],
        ["grade high", "high on its scale (0 to 1)", "0.9"],
    ], "and a score without a declared scale has no colour"
    assert len(set(await page.run(f"{found}.map((node) => getComputedStyle(node).backgroundColor)"))) == 3


async def test_notes_and_findings_are_words_beside_their_rules(window: Tab, told: str) -> None:
    page = await opened(window, told)
    notes = await page.run("[...document.querySelectorAll('#table td.memo')].map((cell) => cell.innerText)")
    assert notes[2] == "names Ostend, which stands nowhere (N1)" and notes[3] == "answer: missing"
    await page.open(f"{told}#case=case-2")
    finding = await page.run("document.querySelector('#case-body .finding').innerText")
    assert finding.startswith("names Ostend, which stands nowhere")
    assert "N1: A name that stands in no passage." in finding


async def test_text_that_nobody_read_is_listed_as_text_with_the_reason(window: Tab, told: str) -> None:
    page = await opened(window, f"{told}#case=case-2")
    shown = await page.run("document.getElementById('case-body').innerText")
    assert "Not read" in shown and "<i>Take two.</i>" in shown and "answer: the labeller called it no claim" in shown


async def test_what_was_not_looked_for_stands_above_the_score(window: Tab, told: str) -> None:
    page = await opened(window, f"{told}#case=case-1")
    shown = await page.run("document.querySelector('#case-body .ruling').innerText")
    assert shown.index("detours were not looked for") < shown.index("0.6")
    assert await page.run("document.querySelectorAll('#case-body .caution').length") == 1
    assert await page.run("document.querySelectorAll('#case-body .finding').length") == 0, "it is not told twice"


async def test_a_reader_chooses_which_columns_beside_the_verdict_are_shown(window: Tab, told: str) -> None:
    page = await opened(window, told)
    heads = "[...document.querySelectorAll('#table th')].map((head) => head.textContent)"
    assert "place" in await page.run(heads) and "fourth" not in await page.run(heads)
    assert await search(page, "fourth=4") == ["case-0"], "what is hidden is searched too"
    await page.run("[...document.querySelectorAll('.chooser input')].forEach((box) => box.click())")
    assert "place" not in await page.run(heads) and "fourth" in await page.run(heads)
    cells = await page.run("document.querySelectorAll('#table tbody tr:first-child td').length")
    assert cells == len(await page.run(heads))


async def test_the_rules_of_a_large_run_are_put_into_words_and_found_by_them(window: Tab, tmp_path: Path) -> None:
    rules = {"N1": "A name that stands in no passage.", "N2": "Less certain than usual."}
    cases = list(many(5_100))
    cases[3]["findings"] = [{"rule": "N1", "text": "x"}]
    known = manifest(counts=Counts(ok=5_100), about=JudgeCard(rules=rules))
    page = await opened(window, write_report(tmp_path, known, cases).as_uri())
    assert await search(page, "in no passage") == ["case-3"]
    memo = await page.run("document.querySelector('#table td.memo').innerText")
    assert memo == "A name that stands in no passage. (N1)"


async def test_a_case_without_a_view_shows_what_it_is_about(window: Tab, told: str) -> None:
    page = await opened(window, f"{told}#case=case-3")
    shown = await page.run("document.getElementById('case-body').innerText")
    assert "Is it mute?" in shown and "answer: missing" in shown


@pytest.mark.parametrize("size", [WIDE, (1_000, 900), PHONE])
async def test_nothing_of_a_case_is_cut_at_the_side(window: Tab, told: str, size: tuple[int, int]) -> None:
    page = await opened(window, f"{told}#case=case-0", size)
    assert "in the first place either" in await page.run("document.getElementById('case-body').innerText")
    out = """(() => {
        const edge = document.getElementById('case').getBoundingClientRect().right;
        const cells = [...document.querySelectorAll('#case-body td')];
        const boxes = [...document.querySelectorAll('#case-body .wide')];
        return [cells.length, cells.filter((cell) => cell.getBoundingClientRect().right > edge).length,
            boxes.filter((box) => box.scrollWidth > box.clientWidth + 1).length];
    })()"""
    count, outside, wider = await page.run(out)
    assert count >= 5 and (outside, wider) == (0, 0)


async def test_a_narrow_screen_hints_at_the_columns_it_hides(window: Tab, told: str) -> None:
    hint = "(() => { const p = document.querySelector('#browser .more'); return !p.hidden && p.innerText; })()"
    page = await opened(window, told)
    await page.until("document.querySelector('#browser .more').hidden")
    assert not await page.run(f"{BOX}.classList.contains('more-right')")
    page = await opened(window, told, PHONE)
    await page.until(f"{BOX}.classList.contains('more-right')")
    assert "scroll sideways" in await page.run(hint)
    await page.run(f"{BOX}.scrollLeft = 99999")
    await page.until(f"!{BOX}.classList.contains('more-right') && {BOX}.classList.contains('more-left')")
