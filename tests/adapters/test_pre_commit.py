"""pre-commit installs the hooks of this repository and runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from adapter_cases import WITH_FRAMEWORKS

pytestmark = WITH_FRAMEWORKS

ROOT = Path(__file__).parents[2]


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {"PRE_COMMIT_HOME": str(folder / "home"), "PATH": path, "GIT_CONFIG_GLOBAL": os.devnull}
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **own}, capture_output=True, text=True, check=False, timeout=600
    )


def test_the_hook_that_checks_judges_passes_a_good_one_and_stops_a_bad_one(tmp_path: Path) -> None:
    assert run(tmp_path, "git", "init", "-q", ".").returncode == 0
    (tmp_path / "judges").mkdir()
    judge = tmp_path / "judges" / "kindness.md"
    assert run(tmp_path, sys.executable, "-m", "krino", "new", str(judge)).returncode == 0
    run(tmp_path, "git", "add", "judges")
    hook = (sys.executable, "-m", "pre_commit", "try-repo", str(ROOT), "krino-check", "--files", "judges/kindness.md")
    good = run(tmp_path, *hook)
    assert good.returncode == 0 and "Passed" in good.stdout, good.stdout + good.stderr
    judge.write_text("---\nlabels: {kind: 1\n---\nIs it kind?\n")
    bad = run(tmp_path, *hook)
    assert bad.returncode == 1 and "judges/kindness.md:" in bad.stdout, bad.stdout + bad.stderr
