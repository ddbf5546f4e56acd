"""What the container is made of is there, and its command serves the workbench with PostgreSQL.

No image is built here. Where a builder is at hand: `docker build -f container/Containerfile .`
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
import yaml

from databases import postgres_server  # noqa: F401 - a fixture
from postgres import fresh_database
from served import free_port
from waiting import until

ROOT = Path(__file__).parents[1]
FILE = (ROOT / "container" / "Containerfile").read_text("utf-8")
COMPOSE = yaml.safe_load((ROOT / "container" / "compose.yaml").read_text("utf-8"))
WORKBENCH, DATABASE = COMPOSE["services"]["workbench"], COMPOSE["services"]["database"]
TOKEN = "a-token-of-this-test-that-is-long-enough"


def instructions(name: str) -> list[str]:
    return re.findall(rf"^{name} (.+)$", FILE, re.MULTILINE)


def test_everything_that_is_copied_is_in_the_repository() -> None:
    copied = [word for line in instructions("COPY") if "--from" not in line for word in shlex.split(line)[:-1]]
    assert copied
    for name in copied:
        assert (ROOT / name).exists(), name


def test_what_the_build_of_the_package_reads_is_copied() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    copied = " ".join(instructions("COPY"))
    read = {project["readme"], *project["license-files"], "pyproject.toml", "src"}
    assert {name for name in read if not name.startswith("src/")} <= set(copied.split())
    (install,) = [line for line in instructions("RUN") if "pip install" in line]
    extras = re.search(r"\.\[([\w,-]+)\]", install)
    assert extras is not None
    assert set(extras[1].split(",")) <= project["optional-dependencies"].keys()


def test_compose_and_containerfile_agree() -> None:
    build = WORKBENCH["build"]
    assert (ROOT / "container" / build["context"] / build["dockerfile"]).samefile(ROOT / "container" / "Containerfile")
    (port,) = instructions("EXPOSE")
    assert WORKBENCH["ports"] == [f"127.0.0.1:{port}:{port}"]
    (volume,) = instructions("VOLUME")
    assert WORKBENCH["volumes"] == [f"runs:{volume}"]
    address = WORKBENCH["environment"]["KRINO_DATABASE"]
    names = DATABASE["environment"]
    assert address.startswith(f"postgresql+psycopg://{names['POSTGRES_USER']}:")
    assert address.endswith(f"@database/{names['POSTGRES_DB']}")
    assert {volume.partition(":")[0] for service in (WORKBENCH, DATABASE) for volume in service["volumes"]} == set(
        COMPOSE["volumes"]
    )


def test_nothing_starts_without_a_token_and_a_password() -> None:
    for service, name in ((WORKBENCH, "KRINO_TOKEN"), (DATABASE, "POSTGRES_PASSWORD")):
        assert service["environment"][name].startswith(f"${{{name}:?")


def serve_command(runs: Path, port: int) -> list[str]:
    """The command of the container, on a port and a folder of this test."""
    command: list[str] = json.loads(instructions("CMD")[-1])
    given = {"krino": "krino", "/runs": str(runs), "8321": str(port)}
    program, *arguments = (given.get(word, word) for word in command)
    assert program == "krino"
    return [sys.executable, "-m", "krino", *arguments]


def ask(url: str, **headers: str) -> Any:
    with urlopen(Request(url, headers=headers), timeout=10) as reply:
        return json.loads(reply.read())


def is_healthy(port: int) -> bool:
    """The check of the container, on the port of this test."""
    (check,) = re.findall(r"^HEALTHCHECK .*?CMD (\[.*\])$", FILE, re.MULTILINE)
    _, *arguments = json.loads(check.replace("8321", str(port)))
    return subprocess.run([sys.executable, *arguments], capture_output=True, check=False).returncode == 0


def test_its_command_serves_the_workbench_with_labels_in_postgresql(tmp_path: Path, postgres_server: str) -> None:  # noqa: F811
    address = fresh_database(postgres_server)
    environment = {**os.environ, "KRINO_TOKEN": TOKEN, "KRINO_DATABASE": address, "HOME": str(tmp_path)}
    port = free_port()
    (tmp_path / "runs").mkdir()
    process = subprocess.Popen(serve_command(tmp_path / "runs", port), env=environment, stderr=subprocess.PIPE)
    try:
        until(lambda: process.poll() is not None or is_healthy(port))
        assert process.poll() is None, process.stderr and process.stderr.read()
        with pytest.raises(HTTPError) as refused:
            ask(f"http://localhost:{port}/v1/runs")
        assert refused.value.code == 401
        refused.value.close()
        assert ask(f"http://localhost:{port}/v1/runs", Authorization=f"Bearer {TOKEN}") is not None
        assert tables(address)
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_its_command_refuses_to_start_without_a_token(tmp_path: Path) -> None:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("KRINO_")}
    command = serve_command(tmp_path / "runs", free_port())
    done = subprocess.run(command, env=clean, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "token" in done.stderr


def tables(address: str) -> list[str]:
    """The tables that are in the database now."""
    from sqlalchemy import create_engine, inspect

    engine = create_engine(address)
    found = inspect(engine).get_table_names()
    engine.dispose()
    return found
