"""Writes the prompt of a labeller: the text of the file, and how to give each label."""

from __future__ import annotations

from collections.abc import Iterator

from krino.judges.file.definition import Definition, Label

_NAMES = "A name in backquotes stands for the piece of data with that name in the message."


def write_prompt(definition: Definition) -> str:
    """Writes the prompt. It is the same for every case and comes first, so that prompt caches hit."""
    if not definition.labels:
        return definition.prompt or "Nothing is asked: rules decide."
    parts = [definition.prompt, "# What you are given", "\n".join(_list_inputs(definition)), "# What you answer"]
    if definition.has_one_label:
        parts.append("\n".join(_describe_label(definition, definition.labels[0])))
    else:
        parts += ["\n".join([f"## `{label.name}`", *_describe_label(definition, label)]) for label in definition.labels]
    return "\n\n".join(parts)


def _list_inputs(definition: Definition) -> Iterator[str]:
    """Yields the lines that list the inputs that are shown."""
    yield _NAMES
    for item in definition.inputs:
        if item.is_shown:
            numbered = " (numbered pieces)" if item.kind == "list" else ""
            absent = "" if item.required else " (may be absent)"
            yield f"- `{definition.shown_name(item.name)}`{numbered}{absent}{': ' * bool(item.about)}{item.about}"


def _describe_label(definition: Definition, label: Label) -> Iterator[str]:
    """Yields the lines that say how to give one label."""
    if label.about:
        yield label.about
    if label.kind == "text":
        yield "Write it in plain words" + (", or null if there is nothing to say." if label.is_nullable else ".")
        return
    if label.each is not None:
        if definition.input(label.each).kind == "messages":
            yield (
                f"Give one entry for every turn of the assistant in `{label.each}`, with its number as `item`. Judge a "
                "turn by what was said before it."
            )
        else:
            yield f"Give one entry for every piece of `{label.each}`, with its number as `item`."
    yield "- `reason`: first, in one or two sentences, what decides it."
    if label.quote_from:
        sources = " or ".join(f"`{definition.shown_name(name)}`" for name in label.quote_from)
        yield (
            f"- `quote`: then the words of {sources} that show it, copied exactly and in one piece; whole words, "
            f"nothing left out.{_describe_empty_quote(label)}"
        )
    yield from _describe_values(label)


def _describe_empty_quote(label: Label) -> str:
    """Returns for which values the quote may be empty, as a sentence; an empty text if for none."""
    free = [f"`{choice.value}`" for choice in label.choices if not choice.needs_quote]
    free += ["[]"] if label.has_several else []
    free += ["null"] if label.is_nullable else []
    return f' It may be empty ("") where the label is {" or ".join(free)}.' if free else ""


def _describe_values(label: Label) -> Iterator[str]:
    """Yields the lines that say which values a label may have."""
    unknown = " Give null if the text does not say." if label.is_nullable else ""
    if label.kind == "number":
        kind = "a whole number" if label.is_whole else "a number"
        yield f"- `label`: last, {kind} from {label.low:g} to {label.high:g}.{unknown}"
        return
    if label.has_several:
        yield f"- `label`: last, the list of those that hold, as they are written here; [] if none does.{unknown}"
    else:
        yield f"- `label`: last, one of these, as it is written here.{unknown}"
    for choice in label.choices:
        yield f"  - `{choice.value}`{': ' * bool(choice.about)}{choice.about}"
