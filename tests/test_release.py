"""What a release holds together: one version everywhere, metadata, licences and notices of all that is inside."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

import krino

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_version_is_the_same_wherever_it_is_said() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    newest, *_ = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert cited["version"] == newest == krino.__version__


def test_the_citation_agrees_with_the_metadata() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert {"cff-version", "title", "message", "authors", "version"} <= cited.keys()
    assert set(cited["keywords"]) == set(PROJECT["keywords"])
    assert cited["license"] == "Apache-2.0"


def test_the_licence_of_every_model_is_named_in_the_metadata() -> None:
    folders = sorted(path.parent for path in (ROOT / "src" / "krino" / "models").rglob("model.onnx"))
    assert len(folders) == 2
    included = {path for pattern in PROJECT["license-files"] for path in ROOT.glob(pattern)}
    for folder in folders:
        assert {folder / "LICENSE", folder / "NOTICE.md"} <= included
        stated = re.search(r"Licence: (\S+?),", (folder / "NOTICE.md").read_text("utf-8"))
        assert stated is not None
        assert stated[1] in PROJECT["license"].split(" AND ")


def test_the_package_says_that_it_is_typed() -> None:
    assert (ROOT / "src" / "krino" / "py.typed").is_file()
    assert "Typing :: Typed" in PROJECT["classifiers"]
