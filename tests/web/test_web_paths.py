"""No path from outside reaches beyond the runs folder, on any route that takes a name."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from made_runs import make_run, scores
from workbench_making import app_of, paths_with_parameters, serving

SECRET = "the-secret-beyond-the-folder"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A runs folder with one run; beside it another run, and a file, that must not be reached."""
    tmp_path = tmp_path_factory.mktemp("home")
    make_run(tmp_path / "runs" / "mine", scores(0.5, 1.0))
    beyond = make_run(tmp_path / "beyond", scores(0.5, note=SECRET))
    (tmp_path / "beyond.txt").write_text(SECRET)
    (tmp_path / "runs" / "link").symlink_to(beyond)
    (tmp_path / "runs" / "file-link").symlink_to(tmp_path / "beyond.txt")
    broken = shutil.copytree(tmp_path / "runs" / "mine", tmp_path / "runs" / "inner")
    (broken / "judgements.jsonl").unlink()
    (broken / "judgements.jsonl").symlink_to(beyond / "judgements.jsonl")
    (tmp_path / "runs" / ".hidden").mkdir()
    return tmp_path / "runs"


@pytest.fixture(scope="module")
def client(runs: Path) -> Iterator[TestClient]:
    with serving(runs) as client:
        yield client


DRESSES = [
    "../beyond",
    "..%2fbeyond",
    "%2e%2e%2fbeyond",
    "%2e%2e/beyond",
    "..%5cbeyond",
    "..%252fbeyond",
    "mine/../../beyond",
    "mine%2f..%2f..%2fbeyond",
    "..",
    ".",
    "%00",
    "mine%00",
    "link",
    "file-link",
    "inner",
    ".hidden",
    "~",
    "%c0%ae%c0%ae%2fbeyond",
    "x" * 5_000,
    "{absolute}",
    "//{absolute}",
    "file:%2f%2f{absolute}",
]


@pytest.mark.parametrize("dress", DRESSES)
def test_no_route_leads_out_of_the_runs_folder(client: TestClient, runs: Path, dress: str) -> None:
    name = dress.replace("{absolute}", quote(str(runs.parent / "beyond"), safe=""))
    paths = paths_with_parameters(app_of(client), name)
    assert paths
    for method, path in paths:
        for accept in ("text/html", "application/json"):
            answer = client.request(method, path, headers={"accept": accept})
            assert SECRET not in answer.text, (method, path)
            assert answer.status_code != 500, (method, path, answer.text)


def test_a_run_in_the_folder_is_reached_and_one_behind_a_link_is_not_even_listed(client: TestClient) -> None:
    listed = [run["name"] for run in client.get("/v1/runs").json()["runs"]]
    assert "mine" in listed
    assert "link" not in listed
    assert client.get("/v1/runs/mine/cases").json()["found"] == 2
    assert client.get("/v1/runs/link/cases").status_code == 404


@pytest.mark.parametrize("dress", ["../app.py", "..%2fapp.py", "%2e%2e/app.py", "../../../../x", "/etc/passwd"])
def test_static_files_are_those_of_their_folder(client: TestClient, dress: str) -> None:
    assert client.get(f"/static/{dress}").status_code == 404
    assert client.get("/static/workbench.css").status_code == 200
