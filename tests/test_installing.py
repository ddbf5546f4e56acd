"""The wheel and the source distribution install into empty environments and work there: `make test-release`.

Builds with what `pyproject.toml` names and installs from the package index, for every Python that is found here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import krino

ROOT = Path(__file__).parents[1]
MINORS = (11, 12, 13)
pytestmark = pytest.mark.skipif("KRINO_TEST_RELEASE" not in os.environ, reason="make test-release runs these")


def run(*command: str | Path, cwd: Path) -> str:
    """What a command prints; nothing of this environment reaches it but the package index."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("KRINO_", "PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=kept, capture_output=True, text=True, check=False, timeout=900
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def pythons() -> Iterator[tuple[int, Path]]:
    """Every Python that Krino is for: of this process, on the path, or in pyenv."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for minor in MINORS:
        named = shutil.which(f"python3.{minor}")
        found = [Path(sys.executable)] if sys.version_info[:2] == (3, minor) else []
        found += sorted(root.glob(f"versions/3.{minor}.*/bin/python")) + ([Path(named)] if named else [])
        for path in found:
            tried = subprocess.run(
                [path, "-c", "import sys; print(sys.version_info[1])"], capture_output=True, check=False
            )
            if tried.stdout.strip() == str(minor).encode():
                yield minor, path
                break


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheel and the source distribution, of what git knows (or of an unpacked source distribution)."""
    folder = tmp_path_factory.mktemp("built")
    run(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    run(folder / "venv/bin/python", "-m", "pip", "install", "-q", "hatchling>=1.25", cwd=folder)
    run(folder / "venv/bin/python", "-m", "hatchling", "build", "-d", folder / "dist", cwd=ROOT)
    (wheel,) = (folder / "dist").glob("*.whl")
    (source,) = (folder / "dist").glob("*.tar.gz")
    return {"wheel": wheel, "source": source}


def test_the_wheel_holds_models_licences_and_the_mark_of_types(built: dict[str, Path]) -> None:
    assert krino.__version__ in built["wheel"].name
    names = set(zipfile.ZipFile(built["wheel"]).namelist())
    assert {
        "krino/py.typed",
        "krino/examples/rag.jsonl",
        "krino/judges/rag/rules.toml",
        "krino/web/static/workbench.css",
    } <= names
    for model in ("gte_entailment", "minilm"):
        assert f"krino/models/{model}/model.onnx" in names
        licences = [name for name in names if name.endswith((f"{model}/LICENSE", f"{model}/NOTICE.md"))]
        assert len([name for name in licences if ".dist-info/licenses/" in name]) == 2
    assert [name for name in names if name.startswith(("tests/", "docs/", "benchmarks/"))] == []


def test_the_source_distribution_holds_what_its_tests_need(built: dict[str, Path]) -> None:
    with tarfile.open(built["source"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "README.md",
        "CITATION.cff",
        "CHANGELOG.md",
        "docs/make_site.py",
        "docs/site.toml",
        "tests/conftest.py",
    } <= names


@pytest.mark.parametrize("minor", MINORS)
def test_the_wheel_works_in_an_empty_environment(minor: int, built: dict[str, Path], tmp_path: Path) -> None:
    found = dict(pythons())
    if minor not in found:
        pytest.skip(f"there is no Python 3.{minor} here")
    works(found[minor], built["wheel"], tmp_path)


def test_the_source_distribution_works_in_an_empty_environment(built: dict[str, Path], tmp_path: Path) -> None:
    works(Path(sys.executable), built["source"], tmp_path)


def works(python: Path, package: Path, folder: Path) -> None:
    """Installs the package alone, and judges with it."""
    run(python, "-m", "venv", folder / "venv", cwd=folder)
    run(folder / "venv/bin/python", "-m", "pip", "install", "-q", package, cwd=folder)
    command = folder / "venv/bin/krino"
    assert krino.__version__ in run(command, "--version", cwd=folder)
    printed = run(command, "demo", cwd=folder)
    assert "rag: is an answer faithful to its passages?" in printed
    assert {path.name for path in (folder / "krino-demo").iterdir()} >= {"rag", "citation", "efficiency"}
    assert (folder / "krino-demo" / "rag" / "report.html").is_file()
    run(command, "doctor", cwd=folder)
    packages = run(folder / "venv/bin/python", "-m", "pip", "list", "--format", "freeze", cwd=folder).splitlines()
    print(f"{package.name} with {python}: {len(packages)} packages with pip")
