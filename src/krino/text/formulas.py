"""Text that a spreadsheet would run as a formula: marked so that it does not, and read back without the marks.

A spreadsheet runs a cell that begins with `=`, `+`, `-` or `@` (also in their full-width forms, or after a tab or a
line break). Such text gets an apostrophe in front, which spreadsheets take for "this is text". Where the list separator
is `;` or a tab, cells begin inside our text: there, and after each line break, the sign gets its apostrophe too. Text
that has such apostrophes already gets one more, so that the original can always be restored.
"""

from __future__ import annotations

import re

RUNS_AS_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_SIGN = r"[=+\-@＝＋－＠]"
# A run of separators is taken whole, sign or not, so that long runs cost no more than their length.
# The quotes around a cell do not protect it where another separator is in force, and may themselves come in between.
_AFTER_SEPARATOR = re.compile(rf"([;\t\r\n][;\s\"]*)('*{_SIGN})?")
_AT_THE_START = re.compile(rf"'*(?:{_SIGN}|[\t\r\n])")


def escape_formula(text: str) -> str:
    """Returns the text with apostrophes, so that no cell of a table runs as a formula."""
    shown = _AFTER_SEPARATOR.sub(lambda found: f"{found[1]}'{found[2]}" if found[2] else found[1], text)
    return f"'{shown}" if _AT_THE_START.match(shown) else shown


def unescape_formula(text: str) -> str:
    """Returns the text that `escape_formula` was given."""
    if "'" not in text:
        return text
    own = text[1:] if text.startswith("'") and _AT_THE_START.match(text) else text
    return _AFTER_SEPARATOR.sub(lambda found: found[1] + (found[2] or "").removeprefix("'"), own)
