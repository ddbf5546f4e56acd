"""`krino attack`: manipulations in every text of the cases, and what moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from krino.cli import exits, options
from krino.cli.printing import print_blocks, print_json
from krino.errors import UsageProblem

if TYPE_CHECKING:
    from krino.api.attacking import Attacked
    from krino.blocks import Block

_MOST = Annotated[int, options.flag("Manipulations for each text of a case that a model is asked about; 0: all.")]
_CASES = Annotated[int, options.flag("Cases to attack, from the start of the file.")]
_LABELLER = Annotated[
    str | None, options.flag("The model to attack; without it only what needs none is tried.", "--labeller", "-l")
]


@options.llm_flags()
def attack(
    ctx: typer.Context,
    judge_name: Annotated[str, typer.Argument(metavar="JUDGE", help="A judge, as `krino judge` takes it.")],
    file: Annotated[str, typer.Argument(metavar="FILE", help="Cases; a few that the judge gets right.")],
    labeller: _LABELLER = None,
    api_key_env: options.ApiKey = None,
    llm: options.LlmFlags = options.NOTHING_SET,
    most: _MOST = 13,
    cases: _CASES = 10,
    map: options.MapFields = None,  # noqa: A002 - the flag's name
    option: options.Options = None,
    json: options.AsJson = False,
) -> None:
    """Put manipulations into every text of the cases, and report which verdicts moved.

    Exit code 1 if a text left its fence, changed what is asked, or decided a case by itself.
    """
    from krino.api.attacking import attack as attack_judge
    from krino.cases import parse_mapping
    from krino.cli.commands.judge import judge_options
    from krino.cli.keys import keys_for
    from krino.cli.settings import load_settings
    from krino.judges.registry import load_judge
    from krino.labellers.factory import names_in

    judge = load_judge(judge_name, judge_options(judge_name, option))
    records = _read_records(file, cases, judge, parse_mapping(map or []))
    chosen = None
    if labeller is not None:
        keys = keys_for(ctx, names_in(labeller), llm.get("base_url"), api_key_env)
        chosen = options.labeller_of(labeller, 1, llm, keys, prices=load_settings().prices, dry_run=False)
    found = attack_judge(judge, records, labeller=chosen, most=most or None)
    if json:
        print_json(asdict(found))
    else:
        print_blocks(_make_blocks(found))
    raise typer.Exit(exits.GATE_FAILED if found.structural else exits.DONE)


def _read_records(file: str, most: int, judge: object, mapping: Mapping[str, str]) -> list[dict[str, object]]:
    """Returns the first readable cases of a file; raises `UsageProblem` if there are none."""
    from itertools import islice

    from krino.cases import read_cases

    items = islice(read_cases([file], mapping=mapping, judge=judge), most)  # type: ignore[arg-type]
    records = [dict(item.record) for item in items if item.record is not None]
    if not records:
        raise UsageProblem(f"{file}: there is no case in it that can be read")
    return records


def _make_blocks(found: Attacked) -> list[Block]:
    """Returns what an attack found, as blocks."""
    from krino.blocks import BulletList, DataTable, Paragraph

    blocks: list[Block] = [
        Paragraph(
            f"{found.tried:,} attacked cases ({found.cases:,} cases, {found.manipulations:,} manipulations in every "
            f"text): {len(found.structural):,} structural successes.",
            strong=True,
        )
    ]
    if found.structural:
        blocks.append(BulletList("What did not hold", list(dict.fromkeys(found.structural))[:20]))
    if found.unjudged:
        blocks.append(BulletList("Cases without a verdict, so that none can be moved", found.unjudged[:5]))
    if not found.judged:
        if not found.unjudged:
            note = "No model was asked: name one with -l to see which verdicts it lets be moved."
            blocks.append(Paragraph(note, small=True))
        return blocks
    moved: dict[str, int] = {}
    for one in found.moved:
        moved[one.family] = moved.get(one.family, 0) + 1
    rows = [
        (family, str(count), str(moved.get(family, 0)), str(found.refused.get(family, 0)))
        for family, count in sorted(found.judged.items(), key=lambda item: -moved.get(item[0], 0))
    ]
    blocks.append(DataTable("By family", ("family", "judged", "moved", "refused"), rows, figures=(1, 2, 3)))
    shown = [
        f"{one.case}, {one.place}, {one.family}: {one.field} {one.before} became {one.after}" for one in found.moved
    ]
    if shown:
        blocks.append(BulletList("Moved verdicts", shown[:20]))
    return blocks
