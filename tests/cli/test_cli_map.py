"""`krino map`: files in formats of somebody else's invention are judged as if they had been written for the judge."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

import krino
from command_here import Done, ran_main

COURTS = ["Cour du travail de Liège", "Arbeidshof Gent", "Cour d'appel de Mons"]
Record = dict[str, Any]


Krino = Callable[..., Done]


@pytest.fixture(name="krino_says")
def _krino(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Krino:
    """The command, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KRINO_CONFIG", raising=False)
    return partial(ran_main, monkeypatch, capsys)


def citations() -> list[Record]:
    """Sixty cases as the judge wants them; numbers, ECLIs and the truth are left out of some."""
    found = []
    for n in range(60):
        day = f"201{n % 10}-0{1 + n % 9}-12"
        candidates = [
            {
                "decision_id": f"dec-{n}-{place}",
                "court_name": COURTS[(n + place) % 3],
                "decision_date": day,
                "rol_number": f"201{n % 10}/A{'BCD'[place]}/{100 + 3 * n + place}",
                "summaries": [f"Licenciement pour motif grave, affaire {place}."],
            }
            for place in range(3)
        ]
        right, chosen = candidates[0], candidates[0 if n % 4 else 1]
        reasoning = f"Court: {chosen['court_name']}. Number {right['rol_number']} is that of the candidate."
        case: Record = {
            "id": f"rq-{n:03}",
            "cited_court_name": right["court_name"],
            "cited_date": day,
            "candidates": candidates[n % 3 :] + candidates[: n % 3],
            "matches": [{"decision_id": chosen["decision_id"], "confidence": 0.95, "reasoning": reasoning}],
        }
        if n % 7:
            case["cited_case_number"] = right["rol_number"]
        if n % 3:
            case["ground_truth"] = right["decision_id"]
        if n % 5 == 0:
            case["citation_snippet"] = f"Le motif grave est examiné dans l'affaire {n}, comme la cour l'a jugé."
        found.append(case)
    return found


def dutch_citation(case: Record) -> Record:
    """Nested, Dutch, with one object for the choice; what is not known is left out."""
    (match,) = case["matches"]
    cited = {"rechtscollege": case["cited_court_name"], "datum": case["cited_date"]}
    if "cited_case_number" in case:
        cited["rolnr"] = case["cited_case_number"]
    if "citation_snippet" in case:
        cited["omgeving"] = case["citation_snippet"]
    hits = [
        {
            "docRef": hit["decision_id"],
            "instantie": {"naam": hit["court_name"]},
            "uitspraak": hit["decision_date"],
            "zaaknr": hit["rol_number"],
            "samenvatting": hit["summaries"][0],
            "rang": place,
        }
        for place, hit in enumerate(case["candidates"])
    ]
    choice = {"gekozen": match["decision_id"], "zekerheid": match["confidence"], "motivering": match["reasoning"]}
    record = {"aanvraagId": case["id"], "meting": {"duurMs": 7}, "aangehaald": cited, "zoek": {"hits": hits}}
    gold = {"annotatie": {"goldId": case["ground_truth"]}} if "ground_truth" in case else {}
    return {**record, "beslissing": {"keuze": choice}, **gold}


def camel_citation(case: Record) -> Record:
    """Nested camelCase, the choice under a name that the judge has another use for; what is not known is null."""
    (match,) = case["matches"]
    hits = [
        {
            "documentId": hit["decision_id"],
            "courtLabel": hit["court_name"],
            "judgmentDate": hit["decision_date"],
            "docketNumber": hit["rol_number"],
            "abstract": hit["summaries"][0],
            "similarity": 0.5,
        }
        for hit in case["candidates"]
    ]
    pick = {"documentId": match["decision_id"], "certainty": match["confidence"], "rationale": match["reasoning"]}
    gold = {"documentId": case["ground_truth"]} if "ground_truth" in case else None
    return {
        "caseRef": case["id"],
        "reference": {
            "courtName": case["cited_court_name"],
            "decisionDate": case["cited_date"],
            "docketNumber": case.get("cited_case_number"),
            "surroundingText": case.get("citation_snippet"),
        },
        "search": {"results": hits},
        "output": {"picks": [pick], "tokens": 5},
        "gold": gold,
    }


def answers() -> list[Record]:
    found = []
    for n in range(60):
        days = 20 + n if n % 3 else 50 + n
        case: Record = {
            "id": str(n),
            "question": f"How many days of leave does a clerk of grade {n} get?",
            "context": [f"A clerk of grade {n} gets {20 + n} days of leave.", "Parking costs ten euros per month."],
            "answer": f"A clerk of grade {n} gets {days} days of leave.",
        }
        found.append({**case, "reference": f"{20 + n} days."} if n % 2 else case)
    return found


def nested_answer(case: Record) -> Record:
    chunks = [{"chunkBody": text, "sim": 0.3} for text in case["context"]]
    turn = {"userUtterance": case["question"], "botReply": {"text": case["answer"], "tokens": 9}}
    gold = {"goldAnswer": case["reference"]} if "reference" in case else None
    return {"logId": int(case["id"]), "turn": turn, "retrieval": {"chunks": chunks, "ms": 3}, "eval": gold}


def answer_below_a_known_name(case: Record) -> Record:
    """The reply is called after its markup, and `gold`, a name that the judge knows, holds an object."""
    hits = [{"chunkText": text, "cosine": 0.9} for text in case["context"]]
    reply = {"markdownBody": case["answer"], "tokensOut": 7}
    gold = {"gold": {"modelAnswer": case["reference"]}} if "reference" in case else {}
    exchange = {"userUtterance": case["question"], "botReply": reply}
    return {"turnId": case["id"], "exchange": exchange, "retrieval": {"engine": "bm25", "topHits": hits}, **gold}


def french_answer(case: Record) -> Record:
    data = {"question_utilisateur": case["question"], "extraits": case["context"]}
    expected = {"réponse attendue": case["reference"]} if "reference" in case else {}
    return {"identifiant": case["id"], "données": data, "sortie": {"réponse": case["answer"]}, "réf": expected}


def traces() -> list[Record]:
    found = []
    for n in range(60):
        look = {"id": "1", "type": "tool", "name": "look", "input": {"tower": n}, "output": f"{n} m"}
        again = [{**look, "id": "2"}] if n % 2 else []
        said = {"id": "3", "type": "llm", "name": "answer", "input": f"{n} m", "output": f"It is {n} m high."}
        found.append({"id": f"k{n}", "task": f"Find the height of tower {n}.", "trace": [look, *again, said]})
    return found


def nested_trace(case: Record) -> Record:
    run = {"stepLog": case["trace"], "costUsd": 0.1}
    return {"runKey": case["id"], "request": {"userGoal": case["task"]}, "agentRun": run}


@pytest.mark.parametrize(
    ("judge", "cases", "dress"),
    [
        ("citation", citations, dutch_citation),
        ("citation", citations, camel_citation),
        ("rag", answers, nested_answer),
        ("rag", answers, french_answer),
        ("rag", answers, answer_below_a_known_name),
        ("efficiency", traces, nested_trace),
    ],
)
def test_a_foreign_file_is_judged_right_after_map_alone(
    judge: str, cases: Callable[[], list[Record]], dress: Callable[[Record], Record], tmp_path: Path, krino_says: Krino
) -> None:
    plain = cases()
    write(Path("foreign.jsonl"), [dress(case) for case in plain])
    found = krino_says("map", "foreign.jsonl", "--write", "krino.toml")
    assert found.code == 0, found.err
    assert f"{judge}: 60 of 60 cases can be read" in found.out
    judged = krino_says("judge", judge, "foreign.jsonl", "--run", "foreign")
    assert judged.code == 0, judged.err
    Path("krino.toml").unlink()
    wanted = krino.run(judge, plain, into=tmp_path / "plain")
    verdicts = [{item["id"]: item["verdict"] for item in run.records()} for run in (krino.load_run("foreign"), wanted)]
    assert verdicts[0] == verdicts[1]


def ecli_beside_id(n: int) -> tuple[Record, str]:
    """A case of three decisions of one day, and its verdict: found by number or by ECLI alone, rightly or wrongly."""
    chosen, right, by_ecli = n % 3, n % 2, n % 4 > 1
    hits = [
        {
            "dbKey": f"row-{n}-{place}",
            "ecliCode": f"ECLI:BE:CTMNS:2019:ARR.20190114.{place + 1}",
            "tribunal": {"label": "Cour du travail de Mons"},
            "pronouncedOn": "2019-01-14",
            "rollNo": f"2018/AM/{10 * n + place}",
        }
        for place in range(3)
    ]
    named = {"ecliCode": hits[right]["ecliCode"]} if by_ecli else {"rollNo": hits[right]["rollNo"]}
    why = "The court is aligned for all candidates."
    record = {
        "meta": {"requestKey": f"q{n}", "elapsedMs": 5},
        "citedRef": {"tribunalName": "Cour du travail de Mons", "pronouncedOn": "2019-01-14", **named},
        "retriever": {"hitList": hits},
        "agentOut": {"selection": [{"dbKey": f"row-{n}-{chosen}", "sureness": 0.97, "motivation": why}]},
    }
    gold = {"annotation": {"goldKey": f"row-{n}-{right}"}} if n % 5 == 0 else {}
    return {**record, **gold}, "CORRECT" if chosen == right else "INCORRECT"


def test_a_cited_ecli_beside_database_ids_decides_after_map_alone(krino_says: Krino) -> None:
    cases = [ecli_beside_id(n) for n in range(12)]
    write(Path("c.jsonl"), [record for record, _ in cases])
    assert "citation: 12 of 12 cases can be read" in krino_says("map", "c.jsonl", "--write", "krino.toml").out
    assert krino_says("judge", "citation", "c.jsonl", "--run", "r").code == 0
    found = {item["id"]: item["verdict"]["match_correctness"] for item in krino.load_run("r").records()}
    assert found == {record["meta"]["requestKey"]: verdict for record, verdict in cases}


def write(file: Path, records: list[Record]) -> None:
    file.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))


def test_every_key_that_is_not_read_is_listed_with_how_many_records_have_it(krino_says: Krino) -> None:
    write(Path("c.jsonl"), [dutch_citation(case) for case in citations()])
    said = krino_says("map", "c.jsonl", "--judge", "citation").out
    listed = said.partition("Not read by citation")[2]
    assert [line.split() for line in listed.splitlines()[1:]] == [["60", "meting.duurMs"], ["60", "candidates.*.rang"]]
    assert "--map 'candidates.*.court_name=zoek.hits.*.instantie.naam'" in said
    assert '"cited_case_number=aangehaald.rolnr",' in said
    assert "Case rq-000 as it will be read\n  cited_court_name      Cour du travail de Liège" in said


def test_a_file_that_is_read_as_it_is_needs_no_mapping(krino_says: Krino) -> None:
    write(Path("c.jsonl"), answers())
    said = krino_says("map", "c.jsonl").out
    assert "rag: 60 of 60 cases can be read as they are, without a mapping" in said
    assert "Proposed" not in said
    assert "Every field is read by rag." in said


def test_known_truth_is_never_proposed_as_what_is_judged(krino_says: Krino) -> None:
    records = [{"question": f"Why {n}?", "docs": ["Because it is."], "gold": {"answer": "x"}} for n in range(3)]
    write(Path("c.jsonl"), records)
    found = krino_says("map", "c.jsonl", "--judge", "rag")
    assert "answer=gold.answer" not in found.out.replace("reference=gold.answer", "")
    assert "no answer: the record has the fields" in found.out
    assert found.code == 3


def test_what_no_judge_can_read_is_asked_about(krino_says: Krino) -> None:
    write(Path("c.jsonl"), [{"a": 1}, {"a": 2}])
    found = krino_says("map", "c.jsonl")
    assert found.code == 2
    assert "name one with --judge" in found.err


def test_a_settings_file_keeps_what_it_says_and_its_own_mapping(krino_says: Krino) -> None:
    write(Path("c.jsonl"), [nested_answer(case) for case in answers()])
    Path("krino.toml").write_text('[options.rag]\ngoal = "legal"\n\n[judge] # mine\nworkers = 1\n')
    assert krino_says("map", "c.jsonl", "--write", "krino.toml").code == 0
    text = Path("krino.toml").read_text()
    assert 'goal = "legal"' in text
    assert "workers = 1" in text
    assert '"answer=turn.botReply.text"' in text
    refused = krino_says("map", "c.jsonl", "--write", "krino.toml")
    assert refused.code == 2
    assert "has a mapping already" in refused.err
    assert Path("krino.toml").read_text() == text


def test_fields_that_only_some_scores_need_are_named_where_nothing_fits_them(krino_says: Krino) -> None:
    Path("log.csv").write_text("Frage,Gefundene Texte,Antwort\nWie hoch?,Er ist 102 Meter hoch.,102 Meter.\n")
    found = krino_says("map", "log.csv", "--judge", "rag").out
    assert "Nothing is proposed for `context`, which is needed for faithfulness, context_relevance" in found
    assert "as --map 'context=Gefundene Texte'" in found
    Path("log.csv").write_text("Frage,Passages,Antwort,Reference\nWie hoch?,Er ist 102 Meter hoch.,102 Meter.,102 m\n")
    assert "Nothing is proposed" not in krino_says("map", "log.csv", "--judge", "rag").out
