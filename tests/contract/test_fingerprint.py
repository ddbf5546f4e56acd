"""A changed judge is a changed judge: whatever a verdict may depend on is in the fingerprint, and nothing else is."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import krino
from krino.contract import fingerprint
from krino.judges.registry import OURS

MINE = """
from typing import ClassVar
from pydantic import BaseModel
from krino import Judge, Ruling, Settlement
{imports}

class Case(BaseModel):
    text: str

class Verdict(BaseModel):
    score: float

class Mine({base}):
    name = "mine"
    version = "1"
    summary = "s"
    default_prompt = "p"
    rules: ClassVar = {{"R": "A rule."}}
    case_model = Case
    labels_model = Case
    verdict_model = Verdict
    {more}

    def study(self, case): return None
    def ask(self, case, facts): return None
    def settle(self, case, facts, labels): return Settlement({{"score": Ruling(0.5, "R")}})
"""


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def mine(path: Path, imports: str = "", base: str = "Judge", more: str = "") -> Path:
    return write(path, MINE.format(imports=imports, base=base, more=more))


@pytest.fixture(autouse=True)
def _own_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test loads is forgotten after it; it stands in its own folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    forget(before)


def forget(known: set[str]) -> None:
    for name in set(sys.modules) - known:
        del sys.modules[name]


def taken(address: str) -> dict[str, Any]:
    """As a new process takes it: what was loaded before is loaded again."""
    before, path = set(sys.modules), list(sys.path)
    importlib.invalidate_caches()
    try:
        return krino.load_judge(address).fingerprint()
    finally:
        sys.path[:] = path
        forget(before)


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> set[str]:
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


# --- a judge in a file ---------------------------------------------------------------------------------


def test_every_edit_of_the_file_counts_and_putting_it_back_too(tmp_path: Path) -> None:
    file = mine(tmp_path / "mine.py")
    source = file.read_text()
    first = taken("mine.py:Mine")
    file.write_text(source.replace("0.5", "0.6"))
    assert changed(first, taken("mine.py:Mine")) == {"source"}
    file.write_text(source)
    assert taken("mine.py:Mine") == first


def test_where_the_file_lies_does_not_count(tmp_path: Path) -> None:
    mine(tmp_path / "a" / "mine.py")
    mine(tmp_path / "b" / "c" / "mine.py")
    assert taken("a/mine.py:Mine") == taken("b/c/mine.py:Mine")


@pytest.mark.parametrize(
    ("imports", "module"),
    [
        ("import helper", "helper.py"),
        ("import tools.deep", "tools/deep.py"),
        ("from tools import deep", "tools/deep.py"),
        ("from tools.deep import x", "tools/deep.py"),
        ("from tools.deep import x", "tools/__init__.py"),
        ("import outer", "inner.py"),
        ("from tools import around", "tools/deep.py"),
        ("from tools import above", "tools/sub/low.py"),
        ("def later():\n    import helper", "helper.py"),
        ("def later():\n    import importlib\n    importlib.import_module('tools.deep')", "tools/deep.py"),
        ("def later():\n    return __import__('helper')", "helper.py"),
        ("from pathlib import Path\nHELPER = Path(__file__).with_name('helper.py')", "helper.py"),
    ],
)
def test_what_it_imports_of_its_project_counts_wherever_it_is_imported(
    tmp_path: Path, imports: str, module: str
) -> None:
    for name in ("helper.py", "inner.py", "unused.py", "tools/__init__.py", "tools/deep.py", "tools/sub/__init__.py"):
        write(tmp_path / name, "x = 1\n")
    write(tmp_path / "tools/sub/low.py", "from ..deep import x\n")
    write(tmp_path / "outer.py", "import inner, json, orjson, krino\n")
    write(tmp_path / "tools/around.py", "from . import deep\n")
    write(tmp_path / "tools/above.py", "from .sub.low import x\n")
    mine(tmp_path / "mine.py", imports)
    first = taken("mine.py:Mine")
    write(tmp_path / "unused.py", "x = 2\n")
    assert taken("mine.py:Mine") == first
    with (tmp_path / module).open("a") as file:
        file.write("y = 2\n")
    assert changed(first, taken("mine.py:Mine")) == {"source"}


def test_modules_that_import_each_other_are_read_once(tmp_path: Path) -> None:
    write(tmp_path / "one.py", "def f():\n    import two\n")
    write(tmp_path / "two.py", "import one\nimport mine\n")
    mine(tmp_path / "mine.py", "import one")
    first = taken("mine:Mine")
    write(tmp_path / "two.py", "import one\n")
    assert changed(first, taken("mine:Mine")) == {"source"}


def test_the_file_of_a_base_counts(tmp_path: Path) -> None:
    base = mine(tmp_path / "base.py")
    write(tmp_path / "child.py", "from base import Mine\nclass Child(Mine):\n    pass\n")
    first = taken("child.py:Child")
    base.write_text(base.read_text().replace("0.5", "0.6"))
    assert changed(first, taken("child.py:Child")) == {"source"}


def test_of_a_package_every_file_counts_but_no_run_and_nothing_compiled(tmp_path: Path) -> None:
    write(tmp_path / "pack/judges/__init__.py", "")
    write(tmp_path / "pack/__init__.py", "")
    write(tmp_path / "pack/shared.py", "")
    mine(tmp_path / "pack/judges/mine.py", "from pack import shared")
    table = write(tmp_path / "pack/judges/data/table.toml", "a = 1")
    first = taken("pack.judges.mine:Mine")
    write(tmp_path / "pack/judges/runs/r/run.json", "{}")
    write(tmp_path / "pack/judges/runs/r/judgements.jsonl", "{}")
    write(tmp_path / "pack/judges/.hidden", "")
    write(tmp_path / "pack/judges/.git/x", "")
    write(tmp_path / "pack/judges/old.pyc", "")
    write(tmp_path / "pack/other.py", "")
    assert taken("pack.judges.mine:Mine") == first
    table.write_text("a = 2")
    second = taken("pack.judges.mine:Mine")
    write(tmp_path / "pack/shared.py", "x = 1")
    assert changed(first, second) == changed(second, taken("pack.judges.mine:Mine")) == {"source"}


# --- data, rules, schemas --------------------------------------------------------------------------------


def test_data_files_are_named_by_the_judge_and_count(tmp_path: Path) -> None:
    write(tmp_path / "words.txt", "a")
    write(tmp_path / "tables/t.csv", "a")
    mine(tmp_path / "mine.py", more='data_files = ("words.txt", "tables")')
    found = [taken("mine.py:Mine")]
    for name in ("words.txt", "tables/t.csv", "tables/new.csv", "tables/model.onnx"):
        write(tmp_path / name, "b")
        found.append(taken("mine.py:Mine"))
    assert [changed(one, other) for one, other in pairwise(found)] == [{"data"}] * 4


def test_a_data_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    mine(tmp_path / "mine.py", more='data_files = ("words.txt",)')
    judge = krino.load_judge(f"{tmp_path / 'mine.py'}:Mine")
    with pytest.raises(krino.UsageProblem, match=r"`mine`: its data_files name .*words.txt, which does not exist"):
        judge.fingerprint()


def test_rules_and_schemas_that_come_from_elsewhere_count() -> None:
    judge = krino.load_judge(f"{Path(__file__).parents[1] / 'toy_judge.py'}:ToyJudge")
    first = judge.fingerprint()

    class Other(type(judge)):  # type: ignore[misc]
        rules = {**judge.rules, "TOY-LABEL": "Another text."}  # noqa: RUF012

    assert "rules" in changed(first, Other().fingerprint())
    for model in ("case_model", "labels_model", "verdict_model", "options_model"):
        other = type("Other", (type(judge),), {model: krino.contract.NoOptions})
        assert "schemas" in changed(first, other().fingerprint())


def test_the_prompt_and_the_options_count() -> None:
    plain, told = krino.load_judge("rag").fingerprint(), krino.load_judge("rag", {"goal": "safety"}, "Other.")
    assert changed(plain, told.fingerprint()) == {"options", "prompt_hash"}


def test_a_judge_without_a_file_is_known_by_what_its_methods_do() -> None:
    def made(score: str) -> dict[str, Any]:
        names: dict[str, Any] = {"__name__": "made_up"}
        exec(MINE.format(imports="", base="Judge", more="").replace("0.5", score), names)
        found: dict[str, Any] = names["Mine"]().fingerprint()
        return found

    assert made("0.5") == made("0.5")
    assert changed(made("0.5"), made("0.6")) == {"source"}


# --- ours ------------------------------------------------------------------------------------------------


def test_all_of_krino_that_a_judge_of_ours_imports_is_in_its_fingerprint() -> None:
    root = Path(krino.__file__).parent
    for name in OURS:
        judge = type(krino.load_judge(name))
        covered = {path for named in fingerprint.OF_KRINO for _, path in fingerprint._of_path(named)}
        covered |= {path for _, path in fingerprint._in_folder(root / "judges" / name)}
        for data in judge.data_files:
            covered |= {path.resolve() for _, path in fingerprint._in_folder(root / "judges" / name / data)}
        imported = {
            file_of(root.parent.joinpath(*module.split(".")))
            for file in (root / "judges" / name).rglob("*.py")
            if file.name not in fingerprint._FOR_PEOPLE
            for module in imports_of(file)
        }
        shows = {root / "blocks.py", root / "contract" / "exhibits.py"}  # for people: no verdict depends on it
        missing = {path.relative_to(root).as_posix() for path in imported - covered - shows if path.is_file()}
        assert not missing, name


def file_of(module: Path) -> Path:
    return module / "__init__.py" if module.is_dir() else module.with_suffix(".py")


def imports_of(file: Path) -> set[str]:
    nodes = (node for node in ast.walk(ast.parse(file.read_bytes())) if isinstance(node, ast.ImportFrom))
    return {node.module for node in nodes if node.module is not None and node.module.startswith("krino.")}


def test_the_weights_of_the_embedded_models_count() -> None:
    named = [path for name in ("rag", "efficiency") for path in krino.load_judge(name).data_files]
    home = Path(krino.__file__).parent / "judges" / "rag"
    files = {path.name for folder in named for _, path in fingerprint._in_folder(home / folder)}
    assert {"NOTICE.md", "vocab.txt", "token_model.py"} <= files  # the notice names the hash of its model
    assert krino.load_judge("rag").fingerprint()["data"] != krino.load_judge("citation").fingerprint()["data"]


def test_a_card_for_people_is_no_source() -> None:
    for name in OURS:
        folder = Path(krino.__file__).parent / "judges" / name
        assert (folder / "card.md").is_file()
        found = fingerprint._of_krino(f"krino.judges.{name}.judge")
        assert f"krino/{name}/prompt.md" in found
        assert f"krino/{name}/rules.toml" in found
        assert f"krino/{name}/card.md" not in found
        assert "krino/contract/judge.py" in found


def test_nothing_is_hashed_before_it_is_asked_for() -> None:
    code = "import sys, krino; krino.load_judge('citation'); print('krino.contract.fingerprint' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
