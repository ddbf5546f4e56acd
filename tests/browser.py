"""Drives a headless Chromium by its DevTools protocol, for tests of the pages that we write."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
    *("--remote-debugging-port=0", "--window-size=1200,900"),
)
NEEDS_CHROMIUM = pytest.mark.skipif(
    CHROMIUM is None,
    reason="needs Chromium, which is not installed here: `make browser` installs it where apt is there",
)
KEYS = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowRight": 39}


@contextmanager
def chromium(profile: Path) -> Iterator[int]:
    """A running browser; gives the port on loopback where it is spoken to."""
    assert CHROMIUM is not None
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield _port(profile, process)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


def _port(profile: Path, process: subprocess.Popen[bytes]) -> int:
    told = profile / "DevToolsActivePort"
    for _ in range(300):
        if told.exists() and (lines := told.read_text().split()):
            return int(lines[0])
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError("Chromium did not start")


class PageLeft(AssertionError):
    """The page changed for another one while it was asked."""


class Tab:
    """One page. Everything is waited for: nothing here depends on how fast the machine is."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = count(1)
        self.events: list[dict[str, Any]] = []

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        while True:
            message: dict[str, Any] = await self._socket.receive_json(timeout=60)
            if message.get("id") == number:
                if "navigated or closed" in message.get("error", {}).get("message", ""):
                    raise PageLeft(message)
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            self.events.append(message)

    async def run(self, script: str) -> Any:
        """The value of a JavaScript expression; a promise is waited for."""
        found = await self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    async def open(self, address: str) -> None:
        """A new document, also where only the part behind # has changed."""
        await self.call("Page.navigate", url="about:blank")
        await self.call("Page.navigate", url=address)
        await self.until("document.readyState === 'complete' && !!document.body")

    async def until(self, condition: str, seconds: float = 30) -> None:
        for _ in range(int(seconds / 0.02)):
            with contextlib.suppress(PageLeft):  # then the next one is asked
                if await self.run(condition):
                    return
            await asyncio.sleep(0.02)
        raise AssertionError(f"never came true: {condition}")

    async def press(self, key: str, *, shift: bool = False) -> None:
        """A key by its name, or a character."""
        number = KEYS.get(key) or ord(key.upper())
        code = {"key": key, "code": key, "windowsVirtualKeyCode": number, "modifiers": 8 if shift else 0}
        text = {"text": "\r"} if key == "Enter" else {"text": key} if len(key) == 1 else {}
        await self.call("Input.dispatchKeyEvent", type="keyDown", **code, **text)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **code)

    async def type(self, text: str) -> None:
        await self.call("Input.insertText", text=text)


# Every visible piece of text against the first background behind it, by the formula of WCAG 2.
CONTRAST = """(() => {
    const rgb = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
    const light = (channel) => (channel /= 255) <= 0.03928 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
    const luminance = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
    const behind = (node) => {
        for (let at = node; at; at = at.parentElement) {
            const colour = rgb(getComputedStyle(at).backgroundColor);
            if (colour.length === 3 || colour[3] === 1) return colour;
        }
        return [255, 255, 255];
    };
    const poor = [];
    for (const node of document.querySelectorAll('body *')) {
        const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
        const silent = node.closest('.hidden, [disabled], svg, script, [aria-hidden]');
        if (!own || silent || !node.checkVisibility()) continue;
        const [one, two] = [luminance(rgb(getComputedStyle(node).color)), luminance(behind(node))];
        const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
        if (ratio < 4.5) poor.push([node.tagName, node.className, ratio, node.textContent.slice(0, 30)]);
    }
    return poor;
})()"""


async def acting(page: Tab) -> tuple[set[str], list[str]]:
    """The roles on the page as a screen reader knows them, and those of what can be acted on and has no name."""
    kinds = {"button", "link", "searchbox", "textbox", "spinbutton", "checkbox", "combobox", "dialog", "progressbar"}
    kinds |= {"DisclosureTriangle", "ProgressIndicator", "radio"}
    nodes = (await page.call("Accessibility.getFullAXTree"))["nodes"]
    shown = [(node["role"]["value"], node.get("name", {}).get("value")) for node in nodes if not node.get("ignored")]
    return {role for role, _ in shown}, [role for role, name in shown if role in kinds and not name]


async def skips_a_heading(page: Tab) -> bool:
    """Whether the headings begin lower than they should, or one is more than a level below the one before it."""
    levels = await page.run("[...document.querySelectorAll('h1, h2, h3, h4')].map((node) => Number(node.tagName[1]))")
    return levels[:1] != [1] or any(later > earlier + 1 for earlier, later in pairwise(levels))


@asynccontextmanager
async def tab(port: int) -> AsyncIterator[Tab]:
    async with aiohttp.ClientSession() as session:
        async with session.put(f"http://127.0.0.1:{port}/json/new?about:blank") as reply:
            target = await reply.json()
        async with session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0) as socket:
            page = Tab(socket)
            await page.call("Page.enable")
            yield page
        await session.get(f"http://127.0.0.1:{port}/json/close/{target['id']}")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def window(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Tab]:
    """A browser with one page, for the tests of a module; a `conftest.py` beside them names it."""
    with chromium(tmp_path_factory.mktemp("profile")) as port:
        async with tab(port) as opened:
            yield opened
