"""Cases written to break out of a page, in every field that a case, a run or an address has: nothing of it is run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import orjson
import pytest
import pytest_asyncio

import krino
from browser import NEEDS_CHROMIUM, Tab
from krino.judges.registry import OURS
from krino.runs.stored_run import load_stored_run

pytestmark = [NEEDS_CHROMIUM, pytest.mark.asyncio(loop_scope="module")]

ATTACKS = (
    "<script>hacked=1</script>",
    "<img src=x onerror=hacked=1>",
    "<svg/onload=hacked=1>",
    '"><a href="javascript:hacked=1" autofocus onfocus=hacked=1>x</a>',
    "{{9173*9173}}{% include 'base.html' %}${9173*9173}<%= 9173*9173 %>",
    "</textarea></title></style></script><script>hacked=1</script><!--",
    "\x00\x07\x1b[31m\u202e\u2028\u200b<b onmouseover=hacked=1>\x7f",
    "<iframe srcdoc='<script>parent.hacked=1</script>'>" + "&lt;" * 4_000,
)
RUN = "<img src=x onerror=hacked=1>{{9173*9173}}"
EXAMPLES = Path(krino.__file__).parent / "examples"
WATCH = """
    window.violations = [];
    document.addEventListener('securitypolicyviolation', (event) => violations.push(event.blockedURI));
"""
FOUND = """({
    hacked: typeof hacked !== 'undefined',
    violations,
    handlers: [...document.querySelectorAll('*')].flatMap((node) => [...node.attributes])
        .filter((attribute) => attribute.name.startsWith('on')).map((attribute) => attribute.name),
    links: [...document.querySelectorAll('[href], [src], [action]')]
        .map((node) => node.href || node.src || node.action)
        .filter((target) => typeof target === 'string' && !target.startsWith(location.origin)),
    foreign: [...document.querySelectorAll('iframe, object, embed, base, script:not([src^="/static/"])')].length,
})"""
HARMLESS = {"hacked": False, "violations": [], "handlers": [], "links": [], "foreign": 0}


def hostile(value: Any, attack: str) -> Any:
    """The same value with the attack behind every text in it, keys of objects aside."""
    if isinstance(value, str):
        return f"{value} {attack}"
    if isinstance(value, list):
        return [hostile(item, attack) for item in value]
    return {key: hostile(item, attack) for key, item in value.items()} if isinstance(value, dict) else value


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For every judge two runs over the same hostile ids, judged by the embedded labeller."""
    folder = tmp_path_factory.mktemp("hostile") / "runs"
    for judge in OURS:
        first, second = (orjson.loads(line) for line in (EXAMPLES / f"{judge}.jsonl").read_bytes().splitlines()[:2])
        for name, example in ((f"{judge} {RUN}", first), (f"{judge} other", second)):
            cases = [
                {**hostile(example, attack), attack: attack, "id": attack, "metadata": {"kind": attack, "who": attack}}
                for attack in ATTACKS
            ]
            krino.run(judge, cases, into=folder / name)
    return folder


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def page(window: Tab) -> Tab:
    await window.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
    await window.call("Network.enable")
    return window


async def refuses(page: Tab, address: str, path: str) -> str:
    """Opens a page and looks for anything that ran, was stopped from running, or led elsewhere; gives its text."""
    page.events.clear()
    await page.open(f"{address}{path}")
    await page.run("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    assert await page.run(FOUND) == HARMLESS, path
    asked = [
        event["params"]["request"]["url"] for event in page.events if event["method"] == "Network.requestWillBeSent"
    ]
    assert [url for url in asked if not url.startswith((address, "about:"))] == []
    assert not any(event["method"] == "Page.javascriptDialogOpening" for event in page.events)
    return str(await page.run("document.body.textContent"))


@pytest.mark.parametrize("judge", list(OURS))
async def test_nothing_in_a_case_is_run_on_any_page(page: Tab, address: str, runs: Path, judge: str) -> None:
    one, other = f"{judge} {RUN}", f"{judge} other"
    assert len(list(load_stored_run(runs / one).records())) == len(ATTACKS)
    for query in (
        "",
        f"?{urlencode({'q': ATTACKS[0], 'in.kind': ATTACKS[1], 'sort': ATTACKS[2], 'min.' + ATTACKS[3]: 1})}",
    ):
        text = await refuses(page, address, f"/runs/{quote(one, safe='')}{query}")
        assert "{{9173*9173}}" in text
        assert str(9173 * 9173) not in text
    await page.until("document.readyState === 'complete'")
    for attack in ATTACKS:
        text = await refuses(page, address, f"/runs/{quote(one, safe='')}/cases/-?{urlencode({'id': attack})}")
        assert "That did not work" not in text
        pair = urlencode({"a": one, "b": other, "id": attack})
        assert "That did not work" not in await refuses(page, address, f"/compare/case?{pair}")
    await refuses(page, address, f"/compare?{urlencode({'a': one, 'b': other})}")


@pytest.mark.parametrize("judge", list(OURS))
async def test_nothing_in_a_case_that_is_tried_is_run(page: Tab, address: str, judge: str) -> None:
    example = orjson.loads((EXAMPLES / f"{judge}.jsonl").read_bytes().splitlines()[0])
    case = json.dumps(hostile(example, " ".join(ATTACKS)[:2_000]))  # all of them, in a case that is not too long
    await refuses(page, address, f"/try?judge={judge}")
    await page.run(f"document.querySelector('#as-json + form [name=case]').value = {json.dumps(case)}")
    await page.run("document.querySelector('#as-json + form').requestSubmit()")
    await page.until("document.readyState === 'complete' && !!document.querySelector('#verdict')")
    assert await page.run(FOUND) == HARMLESS


@pytest.mark.parametrize("attack", ATTACKS)
async def test_nothing_in_an_address_is_run(page: Tab, address: str, attack: str) -> None:
    word = quote(attack[:1_500], safe="")
    for path in (f"/?q={word}", f"/runs/{word}", f"/try?judge={word}&example={word}", f"/compare?a={word}&b={word}"):
        await refuses(page, address, path)
