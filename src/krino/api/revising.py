"""Makes a judge with changes, and writes it: into the file of a user's own judge, or as a prompt that a run names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from krino.contract import AnyJudge
from krino.contract.measured import Measured, split_measured, with_measured
from krino.errors import UsageProblem
from krino.judges.file.judge import FileJudge, make_class
from krino.judges.file.reading import FRAGMENTS, read_judge_text, read_text
from krino.judges.registry import SHELF
from krino.results.alignment.changes import Change, Setting, add_to_section, write_parts
from krino.writing import write_text


@dataclass(frozen=True)
class Reviser(ABC):
    """Applies changes to one judge. `file`: where it is written."""

    judge: AnyJudge
    file: Path

    @abstractmethod
    def text(self, changes: Sequence[Change]) -> str:
        """Returns the text of the file with these changes."""

    @abstractmethod
    def revise(self, changes: Sequence[Change]) -> AnyJudge:
        """Returns the judge with these changes; exactly what reading the written file gives."""

    def write(self, changes: Sequence[Change], measured: Measured) -> None:
        """Writes the file with these changes and the agreement that was measured."""
        write_text(self.file, with_measured(self.text(changes), measured))


class _OfFile(Reviser):
    """A judge of the user's own in a Markdown file."""

    def text(self, changes: Sequence[Change]) -> str:
        stated: FileJudge = self.judge  # type: ignore[assignment]
        text = split_measured(read_judge_text(Path(stated.definition.address)))[0]
        return add_to_section(text, write_parts(changes))

    def revise(self, changes: Sequence[Change]) -> AnyJudge:
        definition = read_text(self.text(changes), self.file.stem, str(self.file), self.file.parent / FRAGMENTS)
        return make_class(definition)()


class _OfPrompt(Reviser):
    """Any other judge: its prompt becomes a file, and its options are named by the run."""

    def text(self, changes: Sequence[Change]) -> str:
        return add_to_section(self.judge.prompt, write_parts(changes))

    def revise(self, changes: Sequence[Change]) -> AnyJudge:
        options = {**self.judge.options.model_dump(), **options_of(changes)}
        return type(self.judge)(options, self.text(changes))


def options_of(changes: Sequence[Change]) -> dict[str, float]:
    return {change.option: change.value for change in changes if isinstance(change, Setting)}


def reviser_for(judge: AnyJudge, out: Path | None) -> Reviser:
    """Returns what writes this judge with changes: into its own Markdown file, or, if it has none or a run gave it
    another prompt, as a prompt.

    `out`: where to, in place of that file or of `<judge>.aligned.md`. Raises `UsageProblem` rather than replace a file:
    any but its own for a judge in a file; for a prompt, any that `krino align` did not write.
    """
    own = _own_file(judge)
    if own is not None and judge.prompt == judge.default_prompt:
        if out is not None and out.exists() and out.resolve() != own.resolve():
            raise UsageProblem(f"{out} exists already; choose another name")
        return _OfFile(judge, out or own)
    file = out or Path(f"{judge.name}.aligned.md")
    if file.exists() and split_measured(read_judge_text(file))[1] is None:
        raise UsageProblem(f"{file} exists and is no prompt that `krino align` wrote; name another with --out")
    return _OfPrompt(judge, file)


def _own_file(judge: AnyJudge) -> Path | None:
    """Returns the Markdown file of a judge of the user's own, or None; a ready judge belongs to the package."""
    if not isinstance(judge, FileJudge):
        return None
    path = Path(judge.definition.address.partition("\n")[0])
    is_file = path.suffix == ".md" and path.is_file()
    return path if is_file and path.resolve().parent != SHELF else None
