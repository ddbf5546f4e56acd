"""The steps of action.yml do what docs/ci.md says: they are run with bash, in the environment that GitHub gives."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from krino.cli import exits

ROOT = Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS = ACTION["runs"]["steps"]
RULES = '[gate.min]\nfaithfulness = 0.3\n[gate.max]\nfailed = "30%"\n'

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="GitHub runs these with bash")


class Job:
    """A job of GitHub with the files that it gives to steps, and the values that expressions have."""

    def __init__(self, folder: Path, **inputs: str) -> None:
        self.folder = folder
        self.outputs: dict[str, str] = {}
        self.values = {f"inputs.{name}": str(about.get("default", "")) for name, about in ACTION["inputs"].items()}
        self.values |= {f"inputs.{name.replace('_', '-')}": value for name, value in inputs.items()}
        self.values |= {
            "runner.temp": str(folder / "temp"),
            "github.action_path": str(ROOT),
            "github.repository": "somebody/project",
            "github.event.pull_request.number": "7",
            "steps.python.outputs.python-path": sys.executable,
        }
        (folder / "temp").mkdir()

    def step(self, name: str) -> subprocess.CompletedProcess[str]:
        """Runs a step as GitHub does, and takes over its outputs."""
        step = next(step for step in STEPS if step.get("name") == name)
        output = self.folder / "output"
        output.write_text("")
        own = {key: self.resolve(value) for key, value in step.get("env", {}).items()}
        clean = {key: value for key, value in os.environ.items() if not key.startswith("KRINO_")}
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        given = {**clean, "PATH": path, **own, "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(self.summary)}
        assert step["shell"] == "bash"
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]
        done = subprocess.run(command, cwd=self.folder, env=given, capture_output=True, text=True, check=False)
        for line in output.read_text("utf-8").splitlines():
            key, _, value = line.partition("=")
            self.values[f"steps.{step.get('id')}.outputs.{key}"] = self.outputs[key] = value
        return done

    def resolve(self, text: str) -> str:
        """Puts the values of expressions in: of `a || b` the first that is not empty."""

        def value(found: re.Match[str]) -> str:
            return next((held for name in found[1].split("||") if (held := self.values[name.strip()])), "")

        return re.sub(r"\$\{\{\s*(.*?)\s*\}\}", value, str(text))

    @property
    def summary(self) -> Path:
        return self.folder / "summary.md"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A repository with cases and rules."""
    (tmp_path / "cases.jsonl").write_bytes((files("krino.examples") / "rag.jsonl").read_bytes())
    (tmp_path / "krino.toml").write_text(RULES, "utf-8")
    return tmp_path


def installed(job: Job) -> Job:
    """The job after a restored cache: `krino` of this Python lies where the step installs it."""
    scripts = job.folder / "temp" / "krino" / "bin"
    scripts.mkdir(parents=True)
    (scripts / "krino").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m krino "$@"\n')
    (scripts / "krino").chmod(0o755)
    return job


def judged(place: Path, **inputs: str) -> tuple[Job, subprocess.CompletedProcess[str]]:
    given = {"judge": "rag", "files": "cases.jsonl\n", "arguments": "--point\n\n", **inputs}
    job = installed(Job(place, **given))
    return job, job.step("Judge and gate")


def test_a_run_that_keeps_the_rules_passes_and_everything_is_kept(place: Path) -> None:
    job, done = judged(place)
    assert done.returncode == 0, done.stderr
    assert job.outputs == {"exit-code": "0", "passed": "true"}
    assert job.summary.read_text("utf-8").startswith("### ✓ Gate passed")
    assert (place / "runs" / "ci" / "report.html").exists()
    (suite,) = ElementTree.parse(place / "temp" / "krino-results" / "gate.xml").getroot()
    assert suite.attrib["failures"] == "0"
    assert job.step("Result").returncode == 0


def test_a_broken_rule_fails_the_last_step_only_so_that_all_is_uploaded(place: Path) -> None:
    (place / "krino.toml").write_text(RULES.replace("0.3", "0.99"), "utf-8")
    job, done = judged(place)
    assert done.returncode == 0, done.stderr
    assert job.outputs == {"exit-code": "1", "passed": "false"}
    assert "Gate failed" in job.summary.read_text("utf-8")
    assert job.step("Result").returncode == exits.GATE_FAILED


@pytest.mark.parametrize("files", ["missing.jsonl", "--help"])
def test_wrong_input_never_passes_and_the_summary_says_so(place: Path, files: str) -> None:
    job, _ = judged(place, files=files)
    assert job.outputs == {"exit-code": "2", "passed": "false"}
    assert "Nothing was judged" in job.summary.read_text("utf-8")
    assert job.step("Result").returncode == exits.WRONG_USAGE


def test_a_result_of_an_earlier_step_is_not_taken_for_this_one(place: Path) -> None:
    job, _ = judged(place)
    job.values["inputs.files"] = "missing.jsonl"
    job.summary.unlink()
    job.step("Judge and gate")
    assert "Nothing was judged" in job.summary.read_text("utf-8")


def test_inputs_are_never_part_of_a_script(place: Path) -> None:
    for step in STEPS:
        assert "${{" not in step.get("run", "")
    hostile = "cases.jsonl; touch ran\n$(touch ran)\n`touch ran`"
    job, _ = judged(place, files=hostile, judge="rag$(touch ran)")
    assert job.outputs["passed"] == "false"
    assert not (place / "ran").exists()


def test_the_comment_has_the_result_and_a_refused_one_is_a_warning(place: Path) -> None:
    job, _ = judged(place)
    (place / "bin").mkdir()
    gh = place / "bin" / "gh"
    gh.write_text('#!/bin/sh\nprintf "%s\\n" "$@" >"$PWD/asked"\nexit "${GH_FAILS:-0}"\n')
    gh.chmod(0o755)
    assert job.step("Comment").returncode == 0
    asked = (place / "asked").read_text("utf-8").splitlines()
    assert asked[:5] == ["pr", "comment", "7", "--repo", "somebody/project"]
    body = Path(asked[asked.index("--body-file") + 1])
    assert body.read_text("utf-8").startswith("### ✓ Gate passed")
    gh.write_text("#!/bin/sh\nexit 1\n")
    refused = job.step("Comment")
    assert (refused.returncode, "::warning::" in refused.stdout) == (0, True)


def test_what_is_installed_is_known_by_its_content(place: Path) -> None:
    job = Job(place)
    assert job.step("What is installed").returncode == 0
    source = job.outputs["hash"]
    assert re.fullmatch("[0-9a-f]{64}", source)
    job.values["inputs.requirement"] = "krino==0.1.0"
    job.step("What is installed")
    assert job.outputs["hash"] != source
    cache = next(step for step in STEPS if step.get("uses", "").startswith("actions/cache"))
    assert "steps.version.outputs.hash" in cache["with"]["key"]


def wheel(folder: Path) -> Path:
    """A package named krino whose command prints its version: what is installed is not for this test."""
    path = folder / "krino-9.9-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("krino_here.py", "def main():\n    print('krino 9.9')\n")
        info = "krino-9.9.dist-info"
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: krino\nVersion: 9.9\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/entry_points.txt", "[console_scripts]\nkrino = krino_here:main\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


def test_krino_is_installed_once_and_a_broken_cache_is_replaced(place: Path) -> None:
    job = Job(place, requirement=str(wheel(place)))
    broken = place / "temp" / "krino" / "bin"
    broken.mkdir(parents=True)
    (broken / "krino").write_text("#!/nonexistent/python\n")
    (broken / "krino").chmod(0o755)
    first = job.step("Install")
    assert (first.returncode, first.stdout) == (0, "krino 9.9\n"), first.stderr
    (place / "krino-9.9-py3-none-any.whl").unlink()
    again = job.step("Install")
    assert (again.returncode, again.stdout) == (0, "krino 9.9\n"), again.stderr


def test_the_page_uses_inputs_that_the_action_has() -> None:
    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    (example,) = re.findall(r'```yaml title="with the action"\n(.*?)```', page, re.DOTALL)
    (step,) = [step for step in yaml.safe_load(example)["jobs"]["judge"]["steps"] if "krino" in step["uses"]]
    required = {name for name, about in ACTION["inputs"].items() if about.get("required")}
    assert required <= step["with"].keys() <= ACTION["inputs"].keys()


def test_comment_and_upload_can_be_left_out() -> None:
    (comment,) = [step["if"] for step in STEPS if step.get("name") == "Comment"]
    (upload,) = [step["if"] for step in STEPS if step.get("uses", "").startswith("actions/upload-artifact")]
    assert "inputs.comment == 'true'" in comment and "inputs.upload == 'true'" in upload
