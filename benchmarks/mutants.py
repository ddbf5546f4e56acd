"""Puts small faults into a module, one at a time, and counts how many of them its tests notice.

python benchmarks/mutants.py src/krino/judges/rag/votes.py tests/judges/rag/test_rag_votes.py --most 30 --seed 2
python benchmarks/mutants.py --guards [NAME ...]     # the guards of guards.toml, or those with NAME in their path

It works on a copy of the tree and never touches the tree itself. Tests are files, folders or patterns (test_rag_*.py).
Exit codes: 0 enough were noticed, 1 fewer than `--least`, 2 nothing could be measured.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = Path(__file__).with_name("guards.toml")
NOT_COPIED = (".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "node_modules")
NEIGHBOUR: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
PATIENCE = 4
"""Times what the tests take without a fault; a fault that makes them run longer is noticed."""


@dataclass(frozen=True, slots=True)
class Fault:
    """`name` is the function and the changed expression, so that it stays the same when lines move."""

    line: int
    name: str
    tree: ast.Module
    old: ast.expr
    new: ast.expr

    @property
    def source(self) -> str:
        """The module with this fault in it."""
        return ast.unparse(_replaced(self.tree, self.old, self.new))


class NothingMeasured(Exception):
    """The table or the tests are such that a count of noticed faults would mean nothing."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A module that must not go wrong in silence, the tests that watch it, and the faults that are known to be none.

    `same` gives a reason for each of those: they change what is written, not what it does.
    """

    module: str
    tests: list[str]
    same: dict[str, str] = field(default_factory=dict)


# --- the faults ------------------------------------------------------------------------------------


def faults_of(source: str) -> list[Fault]:
    """Every small fault of a module, in the order of its lines."""
    tree = ast.parse(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    changes = [change for node in ast.walk(tree) if not _is_left_alone(node, parents) for change in _changes(node)]
    found: list[Fault] = []
    seen: Counter[str] = Counter()
    for old, new in sorted(changes, key=lambda change: (change[0].lineno, change[0].col_offset)):
        name = f"{_function(old, parents)}: {_told(old, new, parents)}"
        seen[name] += 1
        name += f" #{seen[name]}" if seen[name] > 1 else ""
        found.append(Fault(old.lineno, name, tree, old, new))
    return found


def _changes(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What stands there, and what would stand there by mistake."""
    match node:
        case ast.Compare():
            for place, operator in enumerate(node.ops):
                other = copy.copy(node)
                other.ops = [*node.ops[:place], NEIGHBOUR[type(operator)](), *node.ops[place + 1 :]]
                yield node, other
        case ast.BoolOp():
            yield node, ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        case ast.UnaryOp(op=ast.Not()):
            yield node, node.operand
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            turned = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
            yield node, ast.BinOp(node.left, turned, node.right)
        case ast.Constant(value=bool() as truth):
            yield node, ast.Constant(not truth)
        case ast.Constant(value=int() | float() as number):
            yield node, ast.Constant(number + 1)
        case ast.If() | ast.IfExp():
            yield node.test, ast.Constant(False)
            yield node.test, ast.Constant(True)
        case ast.While():
            yield node.test, ast.Constant(False)
        case ast.comprehension():
            for test in node.ifs:
                yield test, ast.Constant(True)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield value, ast.Constant(None)


def _is_left_alone(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Sizes of caches and the making of classes change no answer, and what only type checkers see changes nothing."""
    parent = parents.get(node)
    if isinstance(parent, ast.keyword) and parent.arg in ("maxsize", "frozen", "slots"):
        return True
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _function(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> str:
    names = []
    above: ast.AST | None = node
    while above is not None:
        if isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.append(above.name)
        above = parents.get(above)
    return ".".join(reversed(names)) or "module"


def _told(old: ast.expr, new: ast.expr, parents: dict[ast.AST, ast.AST]) -> str:
    """A bare number or truth value is shown with its surroundings."""
    around = parents[old]
    if not isinstance(old, ast.Constant) or not isinstance(around, ast.expr | ast.keyword | ast.Assign | ast.AnnAssign):
        return f"{_spell(old)} => {_spell(new)}"
    if isinstance(around, ast.Dict) and old in around.values and (key := around.keys[around.values.index(old)]):
        return f"{_spell(key)}: {_spell(old)} => {_spell(new)}"
    return f"{_spell(around)} => {_spell(_replaced(around, old, new))}"


def _spell(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())


def _replaced(tree: ast.AST, old: ast.AST, new: ast.AST) -> ast.AST:
    """The tree with one node changed; everything that does not hold it is shared with the tree as it was."""
    if tree is old:
        return new
    fields = {}
    for name, value in ast.iter_fields(tree):
        if isinstance(value, ast.AST):
            value = _replaced(value, old, new)
        elif isinstance(value, list):
            value = [_replaced(item, old, new) if isinstance(item, ast.AST) else item for item in value]
        fields[name] = value
    made = type(tree)(**fields)
    return ast.copy_location(made, tree) if hasattr(tree, "lineno") else made


# --- the tests -------------------------------------------------------------------------------------


class Copy:
    """A copy of the tree in which a module is changed and tested.

    The tests must pass as things are and fail without the module: else nothing that they notice means anything.
    """

    def __init__(self, root: Path, folder: Path, guard: Guard) -> None:
        self.folder = folder / "tree"
        shutil.copytree(root, self.folder, ignore=shutil.ignore_patterns(*NOT_COPIED))
        self.module = self.folder / guard.module
        self.tests = [str(path) for pattern in guard.tests for path in self._tests(pattern)]
        self.limit = 600.0
        begun = time.monotonic()
        if self.notices(self.module.read_text(encoding="utf-8")):
            raise NothingMeasured(f"{guard.module}: its tests fail without any fault; make them pass first")
        self.limit = 10 + PATIENCE * (time.monotonic() - begun)
        if not self.notices("raise AssertionError('nothing here works')\n"):
            raise NothingMeasured(f"{guard.module}: these tests pass without it; name tests that use it")

    def _tests(self, pattern: str) -> list[Path]:
        found = sorted(self.folder.glob(pattern))
        if not found:
            raise NothingMeasured(f"there are no tests {pattern}")
        return found

    def notices(self, source: str) -> bool:
        self.module.write_text(source, encoding="utf-8")
        where = os.pathsep.join([str(self.folder / "src"), str(self.folder)])
        command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *self.tests]
        # In CI Hypothesis draws the same examples each time and sets no deadline: only the fault makes a difference.
        running = subprocess.Popen(
            command,
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": where, "CI": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return running.wait(self.limit) != 0
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
            return True


def watch(root: Path, guard: Guard, most: int, seed: int) -> float:
    """Prints what the tests of one guard noticed and what they did not; the share that was noticed."""
    faults = faults_of((root / guard.module).read_text(encoding="utf-8"))
    if gone := guard.same.keys() - {fault.name for fault in faults}:
        raise NothingMeasured(f"{guard.module} has no such fault any more, take it out of the table: {min(gone)}")
    real = [fault for fault in faults if fault.name not in guard.same]
    random.Random(seed).shuffle(real)
    tried = sorted(real[:most], key=lambda fault: fault.line)
    with tempfile.TemporaryDirectory() as folder:
        tree = Copy(root, Path(folder), guard)
        missed = [fault for fault in tried if not tree.notices(fault.source)]
    known = f", {len(guard.same)} known to change nothing" if guard.same else ""
    print(f"{guard.module}: {len(tried) - len(missed)} of {len(tried)} noticed ({len(real)} possible{known})")
    for fault in missed:
        print(f"  {guard.module}:{fault.line} {fault.name}")
    sys.stdout.flush()
    return 1 - len(missed) / max(len(tried), 1)


def guards_in(table: Path, names: list[str]) -> list[Guard]:
    rows = tomllib.loads(table.read_text(encoding="utf-8"))["guard"]
    guards = [Guard(row["module"], row["tests"], row.get("same", {})) for row in rows]
    return [guard for guard in guards if not names or any(name in guard.module for name in names)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", metavar="MODULE TESTS", help="a module and its tests; after --guards: names")
    parser.add_argument("--guards", action="store_true", help="take the guards of guards.toml")
    parser.add_argument("--most", type=int, default=40, help="faults to try in a module, drawn at random (40)")
    parser.add_argument("--seed", type=int, default=1, help="of the draw (1)")
    parser.add_argument("--least", type=float, default=0.95, help="the share that must be noticed (0.95)")
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree (this one)")
    args = parser.parse_args()
    if not args.guards and len(args.what) < 2:
        parser.error("give a module and at least one file or folder of tests, or --guards")
    guards = guards_in(TABLE, args.what) if args.guards else [Guard(args.what[0], args.what[1:])]
    if not guards:
        parser.error(f"no guard of {TABLE.name} has {' or '.join(args.what)} in its path")
    try:
        shares = [watch(args.root, guard, args.most, args.seed) for guard in guards]
    except (NothingMeasured, OSError) as error:
        parser.error(str(error))
    sys.exit(1 if min(shares) < args.least else 0)


if __name__ == "__main__":
    main()
