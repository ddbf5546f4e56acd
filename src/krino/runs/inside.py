"""A run folder may come from anyone: of it, only plain files are read and written that lie in it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from krino.errors import UsageProblem


def inside(path: Path) -> Path:
    """The path of a file in a run folder, if it leads to no other folder and to nothing that is no file.

    A link out of the folder would show what the folder's maker may not see but its reader may; a pipe never ends.
    """
    try:
        mode = path.stat().st_mode
    except OSError:
        if not path.is_symlink():
            return path  # whoever opens it says what is wrong
        raise UsageProblem(f"{path} is a link to what is not there; a run's files must lie in its folder") from None
    if not stat.S_ISREG(mode):
        raise UsageProblem(f"{path} is no plain file; a run folder holds nothing else")
    if path.is_symlink() and not _real(path).is_relative_to(_real(path.parent)):
        raise UsageProblem(
            f"{path} is a link that leads out of the run folder; nothing outside it is read: put the file itself there"
        )
    return path


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
