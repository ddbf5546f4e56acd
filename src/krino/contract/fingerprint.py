"""Hashes everything a judge computes with: its source, schemas, rules and data. An edited judge is another judge.

The source is the files of the class and its bases: every file of the folder if the judge is in a package, otherwise the
file itself, and the modules of the same project that they import. Imports are read from the source, not from what
happens to be loaded, so that the hash does not depend on when it is computed. The standard library and installed
packages do not count, except the package the judge itself comes in, and the parts of Krino that judges use
(`OF_KRINO`).
"""

from __future__ import annotations

import ast
import hashlib
import marshal
import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import BaseModel

from krino.errors import UsageProblem

if TYPE_CHECKING:
    from krino.contract import AnyJudge

KRINO = Path(__file__).resolve().parents[1]
OF_KRINO = (
    *(
        f"contract/{name}.py"
        for name in ("__init__", "bounds", "hooks", "judge", "judgement", "labeller", "joining", "record_fields")
    ),
    *(
        "errors.py",
        "cases/item.py",
        "judges/copies.py",
        "judges/lazy.py",
        "judges/messages.py",
        "judges/shuffling.py",
        "text",
    ),
)
"""What every judge computes with, besides its own files. Models are data of the judges that use them."""
_FOR_PEOPLE = frozenset({"card.md", "view.py", "overview.py", "exhibits.py", "explain.py", "mapping_hints.py"})
"""In the folder of a judge of ours, to be read, to show a case or to propose a mapping: no verdict depends on it."""
_WEIGHTS = "model.onnx"
"""Of a model in the package. Its `NOTICE.md` names its hash, and no other file is loaded in its place
(`models.token_model`): so the notice is hashed for it, and a run that asks no embedded model does not read any."""
_INSTALLED = frozenset({"site-packages", "dist-packages"})

Hashes = dict[str, str]
"""From a name that is the same on every machine to the hash of the content."""


def of_source(judge: type[AnyJudge]) -> str:
    """Hashes the source of a judge: the files of its class and bases, what they import, and the parts of Krino that
    judges use."""
    return _of_source(judge)  # once a process: what was loaded stays what it was, whatever happens to the files


def of_schemas(judge: AnyJudge) -> str:
    """Hashes the schemas of all models of a judge."""
    models = [judge.case_model, judge.labels_model, judge.verdict_model, judge.options_model]
    if judge.figures_model.model_fields:
        models.append(judge.figures_model)
    return _hash_json([schema_of(model) for model in models])


def of_rules(judge: AnyJudge) -> str:
    """Hashes the rules of a judge: their ids and texts."""
    return _hash_json({str(rule): str(text) for rule, text in judge.rules.items()})


def of_data(judge: type[AnyJudge]) -> str:
    """Hashes the files and folders that `data_files` of the class and its bases name; a relative path starts at the
    folder of the class that names it."""
    return _of_data(judge)


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """Returns the JSON Schema of what is recorded of a model; empty if pydantic cannot write one."""
    try:
        return model.model_json_schema(by_alias=False, mode="serialization")
    except Exception:
        return {}


def joined_schema(verdict: dict[str, Any], figures: dict[str, Any]) -> dict[str, Any]:
    """Returns the schema of a verdict with the figures added after its fields; for a name in both, the verdict's field
    stays. Either may come from a stranger's file."""
    if not figures:
        return verdict
    joined = dict(verdict)
    for part in ("properties", "$defs"):
        fields = [schema[part] for schema in (verdict, figures) if isinstance(schema.get(part), dict)]
        joined[part] = {}
        for name, field in (item for each in fields for item in each.items()):
            joined[part].setdefault(name, field)
    return joined


# --- source ------------------------------------------------------------------------------------------


@cache
def _of_source(judge: type) -> str:
    """Hashes the source of a judge's class and its bases, the standard library aside."""
    found: Hashes = {}
    for base in judge.__mro__:
        top = base.__module__.partition(".")[0]
        if top == "krino":
            found |= _of_krino(base.__module__)
        elif top not in sys.stdlib_module_names:
            found |= _of_module(base)
    return _hash_json(found)


def _of_krino(module: str) -> Hashes:
    """Hashes the parts of Krino that every judge computes with and, for a built-in judge, the files of its folder,
    except those that are only for people."""
    found = {f"krino/{name}": _hash_file(path) for named in OF_KRINO for name, path in _of_path(named)}
    parts = module.split(".")
    if parts[1:2] == ["judges"] and len(parts) > 3:
        own = _in_folder(KRINO / "judges" / parts[2])
        found |= {f"krino/{parts[2]}/{name}": _hash_file(path) for name, path in own if path.name not in _FOR_PEOPLE}
    return found


def _of_path(named: str) -> Iterator[tuple[str, Path]]:
    """Yields a file of Krino's, or every file of a folder, each with the name by which it is hashed."""
    path = KRINO / named
    if path.is_dir():
        yield from ((f"{named}/{name}", file) for name, file in _in_folder(path))
    else:
        yield named, path


def source_files(judge: type[AnyJudge]) -> dict[str, Path]:
    """Returns the modules of the user's own project that a judge is written in, by name: what a machine without them
    needs."""
    found: dict[str, Path] = {}
    for base in judge.__mro__:
        if base.__module__.partition(".")[0] not in {"krino", *sys.stdlib_module_names}:
            found |= _modules_of(base)[0]
    return {name: file for name, file in found.items() if _is_of_project(file)}


def module_of_file(path: Path) -> str:
    """Returns the name under which a judge's file is loaded: also that of a script, so that it is the same judge either
    way."""
    return f"krino_user_{path.stem}"


def _of_module(judge: type) -> Hashes:
    """Hashes the modules of a judge that is not part of Krino, with all files of its package; for a class without a
    file (made in a session), the code of its methods."""
    modules, beside = _modules_of(judge)
    if not modules:  # made up in a session: what its methods do is all that there is
        methods = [item for item in vars(judge).values() if isinstance(item, FunctionType)]
        return {f"{judge.__module__}.{method.__name__}": _hash(marshal.dumps(method.__code__)) for method in methods}
    return {name: _hash_file(file) for name, file in (modules | beside).items()}


def _modules_of(judge: type) -> tuple[dict[str, Path], dict[str, Path]]:
    """Returns the modules that a class is written in and what they import from the same project, by name; and all files
    of its folder if that is a package."""
    name = judge.__module__
    file = _file_of(name)
    if file is None:
        return {}, {}
    package = _package_of(name)
    folder = None if package is None else _file_of(package)
    if package is None or folder is None:
        return _add_imports({module_of_file(file) if name == "__main__" else name: file}), {}
    inside = list(_in_folder(folder.parent))
    modules = {_module_name(package, path): folder.parent / path for path, _ in inside if path.endswith(".py")}
    return _add_imports(modules), {f"{package}/{path}": file for path, file in inside}


def _add_imports(modules: dict[str, Path]) -> dict[str, Path]:
    """Returns the modules and all of the same project that they import, directly or through others."""
    found: dict[str, Path] = {}
    waiting = dict(modules)
    while waiting:
        name, file = waiting.popitem()
        found[name] = file
        for imported in _list_imports(name, file):
            path = _file_of(imported, file.parent)
            if path is not None and imported not in found and _is_of_project(path):
                waiting[imported] = path
    return found


def _list_imports(name: str, file: Path) -> Iterator[str]:
    """Yields the full names of all that a module may import, with their parent packages, also inside its functions;
    some may be no modules. Yields nothing if the file cannot be parsed."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):  # no Python, or none of this version: it is not what runs
        return
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*above, *filter(None, [node.module])])
            names = [source, *(f"{source}.{alias.name}" for alias in node.names)]
        else:
            names = _find_loaded_by_name(node)
        for full in filter(None, names):
            parts = full.split(".")
            yield from (".".join(parts[: end + 1]) for end in range(len(parts)))


def _find_loaded_by_name(node: ast.AST) -> list[str]:
    """Returns the module, if any, that a node names in `import_module("helper")`, `__import__("helper")` or
    `"helper.py"`. A name that is put together while the judge runs cannot be seen: `data_files` is for such modules."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.endswith(".py"):
        stem = node.value.rpartition("/")[2].removesuffix(".py")
        return [stem] if stem.isidentifier() else []
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        called, named = getattr(node.func, "attr", None) or getattr(node.func, "id", None), node.args[0].value
        if called in {"import_module", "__import__"} and isinstance(named, str) and not named.startswith("."):
            return [named]
    return []


def _file_of(module: str, beside: Path | None = None) -> Path | None:
    """Returns the file of a module, found without running it, also in the folder `beside`; None if there is none."""
    loaded = sys.modules.get(module)
    if loaded is not None:
        file = getattr(loaded, "__file__", None)
        return Path(file) if file and Path(file).is_file() else None
    search = [*sys.path, *([str(beside)] if beside is not None else [])]
    parent = module.rpartition(".")[0]
    if parent:
        above = _file_of(parent, beside)
        if above is None or above.name != "__init__.py":
            return None
        search = [str(above.parent)]
    spec = PathFinder.find_spec(module, search)
    return Path(spec.origin) if spec is not None and spec.origin and Path(spec.origin).is_file() else None


def _is_of_project(file: Path) -> bool:
    """Is a file part of the user's project, rather than installed or of Krino?"""
    resolved = file.resolve()
    if _INSTALLED.intersection(resolved.parts) or resolved.is_relative_to(KRINO) or file.suffix not in {".py", ".pyc"}:
        return False
    return not resolved.is_relative_to(Path(os.__file__).resolve().parent)


def _package_of(module: str) -> str | None:
    loaded = sys.modules.get(module)
    return getattr(loaded, "__package__", None) or None


def _module_name(package: str, path: str) -> str:
    parts = [package, *path.removesuffix(".py").split("/")]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


# --- files -------------------------------------------------------------------------------------------


@cache
def _of_data(judge: type[AnyJudge]) -> str:
    """Hashes the files that a judge and its bases list in `data_files`; raises `UsageProblem` for one that does not
    exist."""
    found: list[tuple[str, str]] = []  # two folders may each hold a file of the same name
    for base in judge.__mro__:
        for named in vars(base).get("data_files", ()):
            home = _file_of(base.__module__)
            path = Path(named) if home is None else home.parent / named
            if not path.exists():
                raise UsageProblem(f"judge `{judge.name}`: its data_files name {path}, which does not exist")
            files = _in_folder(path) if path.is_dir() else [(path.name, path)]
            ours = path.resolve() == KRINO / "models"
            found += [(name, _hash_file(file)) for name, file in files if not ours or file.name != _WEIGHTS]
    return _hash_json(sorted(found))


def _in_folder(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yields every file below a folder, with its path from there; passes over hidden and compiled files and run
    folders."""
    for here, folders, names in os.walk(folder):
        if "run.json" in names:
            folders.clear()
            continue
        folders[:] = [name for name in folders if not name.startswith((".", "__pycache__"))]
        for name in names:
            path = Path(here, name)
            if not name.startswith(".") and path.suffix != ".pyc" and path.is_file():
                yield path.relative_to(folder).as_posix(), path


def _hash_file(path: Path) -> str:
    """Hashes a file with SHA-256, which processors support: data may be large, and every run hashes it."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UsageProblem(f"{path}, a file of the judge, cannot be read: {error.strerror}") from None


def _hash_json(value: Any) -> str:
    return _hash(orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS, default=repr))


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
