"""Does any reader take more than linear time for a long hostile text? A sweep over readers and patterns.

    python benchmarks/long_inputs.py [--sizes 60000 250000 1000000] [--limit 40] [--only TEXT ...] [--patterns NAME ...]

Every reader is given every pattern (one short text repeated) at each size. For each pair that takes long enough to be
measured, the ratio of the time at the last two sizes is printed if it is clearly more than linear (twice the ratio of
the sizes), or if one call runs past the limit. Exit code 1 if any pair is. Prints a summary per reader. No model runs:
it covers reading, studying, asking, settling and showing; what an embedded model does with a text is bounded elsewhere.
"""

from __future__ import annotations

import argparse
import io
import json
import signal
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from krino.blocks import Block, DataTable, MarkedText, Segment
from krino.cases.formats import csv_table, json_array, jsonl
from krino.cases.mapping import field_map
from krino.contract import AnyJudge, Judgement
from krino.errors import KrinoError
from krino.judges.citation.judge import CitationJudge
from krino.judges.efficiency.judge import EfficiencyJudge
from krino.judges.rag.judge import RagJudge
from krino.labellers.llm.planted.answers import PlantedAnswers, squeeze
from krino.labellers.llm.prompt import neutralise
from krino.labellers.llm.sending.secrets import Secrets
from krino.render.html import to_html
from krino.render.markdown import to_markdown
from krino.text.clean import clean, clean_line, unescape_html
from krino.text.forms import canonical_text, locate
from krino.text.formulas import escape_formula
from krino.text.language import foreign_language, guess_language, is_gibberish
from krino.text.quoting import find_whole, widened
from krino.text.words import plain_words

Reader = Callable[[str], object]
TOO_SHORT_TO_MEASURE = 0.05
ABOVE_LINEAR = 2.0
"""How many times the ratio of the sizes the ratio of the times may be: 8 for four times the text."""

PATTERNS: Mapping[str, str] = {
    "digits": "1",
    "digits and spaces": "1 ",
    "digits and commas": "1,",
    "digits and dots": "1.",
    "digits and slashes": "1/",
    "digits and hyphens": "1-",
    "thousands": "1 000 ",
    "one huge word": "a",
    "capitals": "A",
    "short words": "a ",
    "Capitalised words": "Anna Maria ",
    "words with hyphens": "a-",
    "words with underscores": "a_",
    "words with apostrophes": "a'",
    "words with dots": "a.",
    "words with slashes": "a/",
    "words with colons": "a: ",
    "initials": "A. B. ",
    "sentences": "Ab cd. ",
    "questions": "What? ",
    "near matches of the passage": "It is 103 metres tall. ",
    "function words": "the of and not no if ",
    "spaces": " ",
    "blank lines": "\n",
    "tabs": "\t",
    "no-break spaces": "\u00a0",
    "double quotes": '"',
    "single quotes": "'",
    "backquotes": "`",
    "fences": "```\n",
    "fences and braces": "```\n{",
    "backslashes": "\\",
    "escaped quotes": '\\"',
    "dots": ".",
    "commas": ",",
    "colons": ":",
    "semicolons": "a;",
    "hyphens": "-",
    "underscores": "_",
    "asterisks": "*",
    "bold": "**a** ",
    "pipes": "|",
    "table rows": "| a | b |\n",
    "headings": "# a\n",
    "bullets": "- a\n",
    "open brackets": "[",
    "open parentheses": "(",
    "open braces": "{",
    "nested lists": '{"a":[',
    "bracket pairs": "[1]",
    "links": "[a](b ",
    "addresses": "http://a.b/c ",
    "one long address": "http://",
    "mail": "a@",
    "tags": "<a ",
    "open tags": "<tool_call>",
    "invocations": '<invoke name="a">',
    "actions": "Action: a\nAction Input: b\n",
    "actions without input": "Action: a\n",
    "observations": "\nObservation: ",
    "named lines": "tool: a\n",
    "entities": "&amp;",
    "percent escapes": "%41",
    "unicode escapes": "\\u0061",
    "base64": "QUJD",
    "data addresses": "data:a/b;",
    "equals": "a=",
    "combining characters": "a\u0301",
    "joiners": "a\u200d",
    "ideographs": "中",
    "emoji": "😀",
    "ECLI": "ECLI:BE:CASS:2016:ARR.20160512.3 ",
    "case numbers": "C.15.0311.F ",
    "dates": "12 May 2016 ",
    "amounts": "12 euros ",
    "number words": "one hundred thousand ",
    "tracebacks": "Traceback (most recent call last)\n",
}


# --- readers ------------------------------------------------------------------------------------------

JUDGES: Mapping[str, AnyJudge] = {"rag": RagJudge(), "citation": CitationJudge(), "efficiency": EfficiencyJudge()}


def _asked(name: str, record: Mapping[str, Any]) -> None:
    """Everything before a labeller: read the record, find the facts, write the questions."""
    judge = JUDGES[name]
    case = judge.read(record)
    judge.ask(case, judge.study(case))


def _rag(**changed: Any) -> None:
    record = {"question": "How tall is it?", "context": ["It is 102 metres tall."], "answer": "It is 102 metres tall."}
    _asked("rag", {**record, **changed})


def _citation(**changed: Any) -> None:
    candidate = {
        "decision_id": "ECLI:BE:CASS:2016:ARR.20160512.3",
        "court_name": "Cour de cassation",
        "decision_date": "2016-05-12",
        "rol_number": "C.15.0311.F",
    }
    match = {"decision_id": candidate["decision_id"], "confidence": 0.9, "reasoning": "Court and date fit."}
    record = {
        "cited_court_name": "Cass.",
        "cited_date": "12 mai 2016",
        "cited_case_number": "C.15.0311.F",
        "candidates": [{**candidate, **changed.pop("candidate", {})}],
        "matches": [{**match, **changed.pop("match", {})}],
    }
    _asked("citation", {**record, **changed})


def _efficiency(trace: Any, task: str = "Find it.") -> None:
    """The embedded labeller of this judge goes by facts: it belongs to the sweep, and so does what is shown."""
    judge = JUDGES["efficiency"]
    case = judge.read({"task": task, "trace": trace})
    facts = judge.study(case)
    judge.ask(case, facts)
    labels = judge.label_locally([(case, facts)])[0]
    judge.settle(case, facts, labels)
    judgement = Judgement(
        id="1",
        judge="efficiency",
        judge_version="1",
        status="failed",
        verdict=None,
        reason="not settled",
        labels=labels.model_dump(),
        input_hash="",
    )
    to_html(judge.view(case, facts, judgement))


def _steps(text: str) -> list[dict[str, Any]]:
    return [
        {"id": "1", "type": "tool", "name": "find", "input": {"q": text}, "output": text},
        {"id": "2", "type": "tool", "name": "find", "input": {"q": f"{text}x"}, "output": f"{text}y"},
        {"id": "3", "type": "tool", "name": "bash", "input": {"command": text}, "output": text},
        {"id": "4", "type": "llm", "name": "answer", "input": text, "output": text},
    ]


def _messages(text: str) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": "Find it."},
        {"role": "assistant", "content": f"Action: {text}"},
        {"role": "user", "content": f"Observation: {text}"},
        {"role": "assistant", "content": f"{text}\nFinal Answer: {text}"},
    ]


def _read_all(rows: Any) -> None:
    for _ in rows:
        pass


def _csv(text: str) -> None:
    quoted = text.replace('"', '""')
    _read_all(csv_table.rows(io.BufferedReader(io.BytesIO(f'a,b\n1,"{quoted}"\n'.encode())), "a.csv"))


def _shown(text: str) -> None:
    blocks: list[Block] = [MarkedText("a", [Segment(text, "b", text)]), DataTable("a", ("b",), [(text,)])]
    to_markdown(blocks)
    to_html(blocks)


def _rag_bounds(text: str) -> None:
    """What a person's form is made of."""
    judge = JUDGES["rag"]
    case = judge.read({"question": "How tall is it?", "context": [text], "answer": f"It is 102 metres tall. {text}"})
    facts = judge.study(case)
    judge.exhibits(case, facts)
    if (asked := judge.ask(case, facts)) is not None:
        judge.bounds(case, facts, asked, True)


KEY = "sk-1aA0bB2cC3dD4eE5fF6gG7"
SECRETS = Secrets([KEY])
PLANTED = {"claims": [{"sentence": 1, "label": "supported"}], "uncertain": None}

READERS: Mapping[str, Reader] = {
    "rag answer": lambda text: _rag(answer=f"It is 102 metres tall. {text}"),
    "rag passages": lambda text: _rag(context=[f"It is 102 metres tall. {text}", text]),
    "rag question": lambda text: _rag(question=f"How tall is it? {text}"),
    "rag reference": lambda text: _rag(reference=f"It is 102 metres tall. {text}"),
    "citation court": lambda text: _citation(cited_court_name=f"Cass. {text}", candidate={"court_name": text}),
    "citation date": lambda text: _citation(cited_date=f"12 mai 2016 {text}", candidate={"decision_date": text}),
    "citation number": lambda text: _citation(cited_case_number=text, candidate={"rol_number": text}),
    "citation ECLI": lambda text: _citation(cited_ecli=text, candidate={"decision_id": text}),
    "citation snippet": lambda text: _citation(citation_snippet=text, candidate={"summaries": [text]}),
    "citation reasoning": lambda text: _citation(match={"reasoning": f"The court fits. {text}"}),
    "citation output": lambda text: _citation(matches=text),
    "citation candidates": lambda text: _citation(candidates=f"- ECLI:BE:CASS:2016:ARR.20160512.3 {text}"),
    "citation fenced output": lambda text: _citation(matches=f"```json {text}"),
    "trace task": lambda text: _efficiency(_steps("x"), f"Find it. {text}"),
    "trace steps": lambda text: _efficiency(_steps(text)),
    "trace messages": lambda text: _efficiency(_messages(text)),
    "trace text": lambda text: _efficiency(f"Question: Find it.\nAction: find\nAction Input: it\n{text}"),
    "JSON line": lambda text: _read_all(jsonl.rows(io.BufferedReader(io.BytesIO(text.encode())), "a.jsonl")),
    "JSON list": lambda text: _read_all(
        json_array.rows(io.BufferedReader(io.BytesIO(f'[{{"a": "b"}}, {text}'.encode())), "a.json")
    ),
    "CSV cell": _csv,
    "mapping": lambda text: field_map({"a": "b.c"}, {"a": "|"}).apply({"b": {"c": text}}),  # type: ignore[union-attr]
    "language": lambda text: (guess_language(text), foreign_language(text), is_gibberish(text)),
    "words": plain_words,
    "formulas": escape_formula,
    "quotation": lambda text: (locate(text[: len(text) // 2] + "x", text), find_whole(text[:50], text)),
    "quotation edges": lambda text: widened(text, len(text) // 2, len(text) // 2),
    "same text": canonical_text,
    "terminal text": lambda text: (clean(text), clean_line(text)),
    "prompt text": neutralise,
    "entities": unescape_html,
    "keys in a reply": lambda text: SECRETS.redact(text.encode()),
    "keys beside a key": lambda text: SECRETS.redact(f"{text} {KEY} {text}".encode()),
    "rag bounds": _rag_bounds,
    "planted squeeze": squeeze,
    "planted answer": lambda text: PlantedAnswers((f"claims sentence label uncertain supported {text}",), ()).contain(
        PLANTED
    ),
    "shown as HTML and Markdown": _shown,
}


# --- measuring ----------------------------------------------------------------------------------------


class _TooLong(Exception):
    pass


def _stop(*_: object) -> None:
    raise _TooLong


def seconds(reader: Reader, text: str, limit: float) -> float:
    """The time of one call; infinite where it runs past the limit. What a reader refuses by name is an answer too."""
    signal.setitimer(signal.ITIMER_REAL, limit)
    started = time.process_time()
    try:
        reader(text)
    except _TooLong:
        return float("inf")
    except (KrinoError, ValueError):
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return time.process_time() - started


def _long(unit: str, size: int) -> str:
    return (unit * (size // len(unit) + 1))[:size]


def grows(reader: Reader, unit: str, sizes: list[int], limit: float) -> tuple[float, str]:
    """The longest time, and what is wrong with how the times grow (empty: nothing)."""
    times: list[float] = []
    for size in sizes:
        times.append(seconds(reader, _long(unit, size), limit))
        if times[-1] == float("inf"):
            return limit, f"more than {limit:g} s at {size} characters"
        if len(times) > 1 and times[-1] > TOO_SHORT_TO_MEASURE:
            most = ABOVE_LINEAR * size / sizes[len(times) - 2]
            if times[-1] > most * max(times[-2], TOO_SHORT_TO_MEASURE):
                times[-1] = min(times[-1], seconds(reader, _long(unit, size), limit))  # once may be chance
            ratio = times[-1] / max(times[-2], TOO_SHORT_TO_MEASURE)
            if ratio > most:
                return times[-1], f"{times[-2]:.2f} s, then {times[-1]:.2f} s at {size}: {ratio:.1f} times"
    return max(times), ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[60_000, 250_000, 1_000_000])
    parser.add_argument("--limit", type=float, default=40.0, help="most seconds for one call")
    parser.add_argument("--only", nargs="*", default=[], help="readers whose name holds one of these")
    parser.add_argument("--patterns", nargs="*", default=[], help="names of patterns")
    given = parser.parse_args()
    signal.signal(signal.SIGALRM, _stop)
    wrong = 0
    for name, reader in READERS.items():
        if given.only and not any(part in name for part in given.only):
            continue
        seconds(reader, "x", given.limit)  # loads tables and compiles patterns
        slowest, by = 0.0, ""
        for pattern, unit in PATTERNS.items():
            if given.patterns and pattern not in given.patterns:
                continue
            longest, problem = grows(reader, unit, given.sizes, given.limit)
            if problem:
                wrong += 1
                print(f"  {name}, {pattern}: {problem}", flush=True)
            if longest > slowest:
                slowest, by = longest, pattern
        print(f"{name}: at most {slowest:.2f} s ({by})", flush=True)
    print(json.dumps({"readers": len(READERS), "patterns": len(PATTERNS), "more than linear": wrong}))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
