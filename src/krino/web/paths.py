"""The only way from a name in a request to a folder on disk."""

from __future__ import annotations

from pathlib import Path


def inside_folder(base: Path, name: str) -> Path | None:
    """The folder `name` directly below `base`; None where there is none, or where the name leads anywhere else.

    A name is one part of a path: no separator, no dots alone, no NUL, nothing hidden. A link that leads out of `base`
    is as good as no folder, whoever put it there.
    """
    if not name or len(name) > 255 or name.startswith(".") or any(char in name for char in "/\\\0:"):
        return None
    try:
        root = base.resolve(strict=True)
        folder = (root / name).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        return None
    return folder if folder.parent == root and folder.is_dir() else None
