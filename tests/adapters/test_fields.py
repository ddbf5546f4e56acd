from __future__ import annotations
import krino
from adapter_cases import Kind
from krino.adapters import SharedJudge, fields, status

def test_kinds(kind: Kind) -> None:
    shared = SharedJudge(kind.judge, **kind.settings)
    for sample, judgement in zip(kind.samples, kind.judgements(), strict=True):
        mine = shared.decide({**sample.inputs, "answer": sample.answer})
        assert mine.verdict == judgement.verdict
        print(shared.fields(mine), status(mine), shared.identity, shared.score_names)
