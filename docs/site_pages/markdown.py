"""Markdown of the repository made to fit the site: links, comments, and marks of code blocks."""

from __future__ import annotations

import re
from os.path import normpath, relpath
from pathlib import Path, PurePosixPath

_LINK = re.compile(r"(?<!\!)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<to>[^)\s]+)\)")
_PICTURE = re.compile(r"!\[(?P<text>[^\]]*)\]\((?P<to>[^)\s]+)\)")
SECTION = re.compile(r'<!-- section: (?P<path>\S+) "(?P<heading>[^"]+)" -->')
"""Stands for a section of another file, so that nothing is copied."""
_COMMENT = re.compile(r"<!--(?! section: ).*?-->\n?", re.DOTALL)
_FENCE = re.compile(r"^(?P<indent> *)(?P<marks>`{3,})(?P<info>[^`\n]*)$", re.MULTILINE)
_NOT_RUN = re.compile(r' no-run(?:="(?P<why>[^"]*)")?')


def page_paths(root: Path, included: dict[str, str]) -> dict[str, str]:
    """Files of the repository that are pages, with their places in the site."""
    own = {str(page.relative_to(root)): str(page.relative_to(root / "docs")) for page in (root / "docs").rglob("*.md")}
    return {**own, **included}


def section_of(text: str, heading: str) -> str | None:
    """What stands below a heading, to the next heading."""
    found = re.search(
        rf"^(?P<marks>#+) {re.escape(heading)}\n(?P<body>.*?)(?=^#{{1,6}} |\Z)", text, re.MULTILINE | re.DOTALL
    )
    return found["body"].strip() + "\n" if found else None


def adapt(text: str, source: str, places: dict[str, str]) -> str:
    """The text of a page as the site needs it; `source` is its path in the repository."""
    parts = re.split(r"(^ *```.*?^ *```+ *$)", _mark_blocks(text), flags=re.MULTILINE | re.DOTALL)
    prose = [part if at % 2 else _adapt_prose(part, source, places) for at, part in enumerate(parts)]
    return "".join(prose)


def _adapt_prose(text: str, source: str, places: dict[str, str]) -> str:
    """Links and comments between the blocks of code."""
    text = _COMMENT.sub("", text)
    text = _LINK.sub(lambda link: _link(link["text"], link["to"], source, places), text)
    return _PICTURE.sub(lambda picture: f"![{picture['text']}]({_picture(picture['to'], source, places)})", text)


def _link(text: str, to: str, source: str, places: dict[str, str]) -> str:
    """A link to where the page now is. A file that is no page is only named: where the repository lies is not known."""
    if re.match(r"[a-z]+:", to) or to.startswith("#"):
        return f"[{text}]({to})"
    path, mark, anchor = to.partition("#")
    found = normpath(PurePosixPath(source).parent / path)
    goal = places.get(found)
    if goal is None and not found.startswith("docs/"):
        return text if "`" in text else f"`{found}`" if "/" in text else text
    goal = goal or found.removeprefix("docs/")
    return f"[{text}]({_from(places[source], goal)}{mark}{anchor})"


def _picture(to: str, source: str, places: dict[str, str]) -> str:
    """The path of a picture, which lies in docs/, from where the page now is."""
    found = normpath(PurePosixPath(source).parent / to).removeprefix("docs/")
    return _from(places[source], found)


def _from(page: str, goal: str) -> str:
    return relpath(goal, str(PurePosixPath(page).parent))


def _mark_blocks(text: str) -> str:
    """Says visibly which blocks the tests do not run, and why."""

    def plain(fence: re.Match[str]) -> str:
        unmarked = _NOT_RUN.search(fence["info"])
        if not unmarked:
            return fence[0]
        why = unmarked["why"] or "it needs a service of yours"
        info = _NOT_RUN.sub("", fence["info"])
        return f"{fence['indent']}*Not run by the tests: {why}.*\n\n{fence['indent']}{fence['marks']}{info}"

    return _FENCE.sub(plain, text)
