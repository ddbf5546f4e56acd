"""Maps a name from a request to a folder on disk. No other code does."""

from __future__ import annotations

from pathlib import Path


def inside_folder(base: Path, name: str) -> Path | None:
    """Returns the folder `name` directly below `base`; None if there is none, or if the name leads anywhere else.

    A name is a single path component: no separator, no NUL, nothing hidden. A link that leads out of `base` counts as
    missing, whoever made it.
    """
    if not name or len(name) > 255 or name.startswith(".") or any(char in name for char in "/\\\0:"):
        return None
    try:
        root = base.resolve(strict=True)
        folder = (root / name).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        return None
    return folder if folder.parent == root and folder.is_dir() else None
