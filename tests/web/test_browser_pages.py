"""The workbench in a real browser: a run, its failures, a case, two runs, a case to try; by keyboard, on a phone."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
import pytest_asyncio

import krino
from browser import CONTRAST, NEEDS_CHROMIUM, Tab, acting, skips_a_heading
from krino.contract import Judgement
from krino.runs.journal import Journal
from krino.runs.manifest import Manifest
from krino.runs.stored_run import load_stored_run
from made_runs import failed_row, make_run, row

pytestmark = [NEEDS_CHROMIUM, pytest.mark.asyncio(loop_scope="module")]

EXAMPLES = Path(krino.__file__).parent / "examples"
PAGES = (
    "/",
    "/runs/before",
    "/runs/before?status=failed&min.faithfulness=0.1&sort=id",
    "/runs/before/cases/half-supported",
    "/runs/citations/cases/ranked-second",
    "/runs/traces/cases/one-duplicate",
    "/compare?a=before&b=after",
    "/compare/case?a=before&b=after&id=supported",
    "/try?judge=efficiency",
    "/nowhere",
)
ROWS = "[...document.querySelectorAll('#table [data-open]')].map((a) => a.textContent)"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("browser") / "runs"
    cases = [orjson.loads(line) for line in (EXAMPLES / "rag.jsonl").read_bytes().splitlines()]
    krino.run("rag", cases, into=folder / "before")
    changed = [{**case, "answer": "It dates from 1938."} if case["id"] == "supported" else case for case in cases]
    krino.run("rag", changed, into=folder / "after")
    krino.run("citation", str(EXAMPLES / "citation.jsonl"), into=folder / "citations")
    krino.run("efficiency", str(EXAMPLES / "efficiency.jsonl"), into=folder / "traces")
    return folder


@pytest_asyncio.fixture(loop_scope="module")
async def page(window: Tab) -> Tab:
    await window.call("Emulation.setEmulatedMedia", media="", features=[])
    await window.call("Emulation.clearDeviceMetricsOverride")
    return window


async def arrived(page: Tab, path: str) -> None:
    """The address is there and its page is whole."""
    await page.until(f"location.pathname + location.search === {path!r} && document.readyState === 'complete'")


async def summed_up(page: Tab, address: str, run: str) -> None:
    """A run is indexed when it is first opened, and its page comes again by itself when that is done."""
    await page.open(f"{address}/runs/{run}")
    await page.until("document.readyState === 'complete' && !document.querySelector('[data-live]')")


async def test_from_the_list_of_runs_to_a_failure_and_back_by_keyboard(page: Tab, address: str) -> None:
    await summed_up(page, address, "before")
    await page.open(f"{address}/")
    await page.press("j")
    names = await page.run("[...document.querySelectorAll('[data-open]')].map((a) => a.textContent)")
    while await page.run("document.activeElement.textContent") != "before":
        await page.press("j")
    assert set(names) == {"before", "after", "citations", "traces"}
    await page.press("Enter")
    await arrived(page, "/runs/before")
    await page.run("document.querySelector('input[name=status][value=failed]').click()")
    await arrived(page, "/runs/before?status=failed")
    assert await page.run(ROWS) == ["no-answer"]
    await page.press("j")
    await page.press("Enter")
    await arrived(page, "/runs/before/cases/no-answer?status=failed")
    assert "blank" in await page.run("document.querySelector('.case').innerText")
    await page.press("u")
    await arrived(page, "/runs/before?status=failed")


async def test_keys_move_through_the_cases_and_the_search(page: Tab, address: str) -> None:
    await summed_up(page, address, "before")
    await page.press("/")
    await page.type("Ostend")
    await page.press("Enter")
    await arrived(page, "/runs/before?q=Ostend")
    assert await page.run(ROWS) == ["half-supported"]
    await page.open(f"{address}/runs/before/cases/supported?sort=id&down=1")
    await page.press("k")
    await arrived(page, "/runs/before/cases/wrong-refusal?sort=id&down=1")
    await page.press("j")
    await arrived(page, "/runs/before/cases/supported?sort=id&down=1")


async def test_a_claim_leads_to_the_words_of_the_passage_that_decide_it(page: Tab, address: str) -> None:
    await page.open(f"{address}/runs/before/cases/half-supported")
    await page.run("document.querySelector('mark a').click()")
    assert (
        await page.run("document.querySelector(':target').textContent")
        == "It stands 102 metres tall (supports: answer sentence 1)"
    )
    timeline = f"{address}/runs/traces/cases/one-duplicate"
    await page.open(timeline)
    await page.run("document.querySelector('mark a').click()")
    assert "a1" in await page.run("document.querySelector(':target').textContent")


async def test_two_runs_are_compared_and_a_flip_opens_both_cases(page: Tab, address: str) -> None:
    await page.open(f"{address}/compare")
    await page.run(
        "document.querySelector('[name=a]').value = 'before'; document.querySelector('[name=b]').value = 'after'"
    )
    await page.run("document.querySelector('main form').requestSubmit()")
    await page.until("!!document.querySelector('.flips a')")
    await page.run("document.querySelector('.flips a').click()")
    await arrived(page, "/compare/case?a=before&b=after&id=supported")
    sides = await page.run("[...document.querySelectorAll('.sides section')].map((side) => side.innerText)")
    assert "1958" in sides[0]
    assert "1938" in sides[1]
    assert "faithfulness" in await page.run("document.querySelector('#changed').parentElement.innerText")


async def test_a_case_is_tried_and_saved(page: Tab, address: str, runs: Path) -> None:
    await page.open(f"{address}/try?judge=rag&example=contradicted")
    answer = "document.querySelector('[name=\"field.answer\"]')"
    assert "165" in await page.run(f"{answer}.value")
    await page.run(f"{answer}.value = 'The Atomium stands 102 metres tall.'")
    await page.run("document.querySelector('#as-fields + form').requestSubmit()")
    await page.until("!!document.querySelector('#verdict')")
    assert "supported" in await page.run("document.querySelector('.judged mark').textContent")
    await page.run("document.querySelector('form[action=\"/try/save\"] [name=file]').value = 'from-the-browser'")
    await page.run("document.querySelector('form[action=\"/try/save\"]').requestSubmit()")
    await page.until("!!document.querySelector('.good-news')")
    saved = orjson.loads((runs / "cases" / "from-the-browser.jsonl").read_bytes())
    assert saved["answer"] == "The Atomium stands 102 metres tall."


async def test_a_run_under_way_tells_how_far_it_is_until_it_is_done(page: Tab, address: str, runs: Path) -> None:
    folder = make_run(runs / "going on", [row("a", score=1.0), failed_row("b")], state="running", cases=None)
    finished = Manifest.load(folder)
    await page.open(f"{address}/runs/going%20on")
    state = "document.querySelector('[data-live] .state').textContent"
    await page.until(f"{state}.startsWith('2 cases judged so far')")
    (first, second) = load_stored_run(folder).records()
    journal = Journal(folder)
    with (folder / "roll.jsonl").open("ab") as roll:
        roll.write(orjson.dumps({"id": "c", "input_hash": "c" * 32, "source": None}) + b"\n")
    journal.append(Judgement.model_validate({**first, "id": "c", "input_hash": "c" * 32}))
    journal.close()
    await page.until(f"{state}.startsWith('3 cases judged so far')")
    entries = [orjson.loads(line)["input_hash"] for line in (folder / "roll.jsonl").read_bytes().splitlines()]
    from hashlib import blake2b

    finished.cases, finished.input_hash = 3, blake2b("".join(entries).encode(), digest_size=16).hexdigest()
    finished.state, finished.counts.ok = "finished", 2
    finished.write(folder)
    await page.until(
        "!document.querySelector('[data-live]') && document.querySelectorAll('#table [data-open]').length === 3"
    )
    assert second["status"] == "failed"


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_can_be_used_by_everybody(page: Tab, address: str, path: str) -> None:
    """Legible in light and dark, named for a screen reader, with landmarks, and no wider than a phone."""
    for scheme in ("light", "dark"):
        await page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        await page.open(f"{address}{path}")
        dark = await page.run("getComputedStyle(document.body).backgroundColor") == "rgb(16, 20, 27)"
        assert dark is (scheme == "dark")
        await page.run("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
        assert await page.run(CONTRAST) == []
    roles, nameless = await acting(page)
    assert {"main", "navigation", "banner", "contentinfo"} <= roles
    assert nameless == []
    assert not await skips_a_heading(page)
    assert await page.run("document.title.endsWith('Krino') && document.documentElement.lang === 'en'")
    await page.call("Emulation.setDeviceMetricsOverride", width=360, height=800, deviceScaleFactor=1, mobile=True)
    await page.open(f"{address}{path}")
    assert await page.run("document.documentElement.scrollWidth") <= 360
