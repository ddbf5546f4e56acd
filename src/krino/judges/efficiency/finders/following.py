"""Follows what acts and later calls were given back to the readings that brought it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from krino.judges.efficiency.finders.calls import texts_in
from krino.judges.efficiency.finders.content_words import MAX_TEXT, forms, tokens_in, tokens_of
from krino.judges.efficiency.finders.effects import is_pending
from krino.judges.efficiency.finders.trace_words import NEARBY, TraceWords, identifiers
from krino.judges.efficiency.tables import words
from krino.judges.efficiency.traces.content import from_json

_COPIED = 200


class Followed:
    """What the kept steps of a trace were given, followed back to the readings that brought it."""

    def __init__(self, trace: TraceWords, kept: Sequence[int]) -> None:
        self.trace = trace
        self.suppliers: set[int] = set()
        """Readings that brought what an act was given, or a short identifier with which a later call was made."""
        self.supplied: set[int] = set()
        """Those later calls."""
        self.acts = [place for place in kept if trace.is_act(place)]
        self.worked_on: dict[int, set[str]] = {}
        """What acts were given that state more than the task does."""
        self.waits_from = next((place for place in self.acts if is_pending(trace.steps[place])), len(trace.steps))
        """From this place on something that was set going is waited for."""
        self._follow_identifiers(kept)
        self._follow_copies(kept)
        last = self._follow_arguments(kept)
        self.rests_until = len(trace.steps) if self._answer_rests(kept) else last
        """Up to this place results may be what something rests on that is not seen to take them up: the end of the
        trace if the answer rests on results, else the last act that states what stands nowhere."""

    def _follow_identifiers(self, kept: Sequence[int]) -> None:
        """Notes who brought the short identifiers (R2, m-5) that later calls were given, and which calls those are."""
        sources: dict[str, int] = {}
        wanted = set().union(*self.trace.named) - self.trace.task_identifiers
        for place in kept if wanted else ():
            if found := self.trace.named[place] & sources.keys():
                self.suppliers.update(sources[name] for name in found)
                self.supplied.add(place)
            if self.trace.tells[place]:
                for name in identifiers(self.trace.steps[place].output) & wanted:
                    sources.setdefault(name, place)

    def _follow_arguments(self, kept: Sequence[int]) -> int:
        """Notes who brought what acts are given beyond the task; the last act that was given what nobody brought."""
        looked_for = {place: self._open_arguments(place) for place in self.acts}
        self.worked_on = {place: tokens_of(self.trace.steps[place].input) for place in self.acts if looked_for[place]}
        wanted = set().union(*looked_for.values())
        sources: dict[str, int] = {}
        last = 0
        for place in kept if wanted else ():
            for word in looked_for.get(place, ()):
                if word in sources:
                    self.suppliers.add(sources[word])
                else:
                    last = place
            if self.trace.tells[place]:
                for word in wanted & tokens_of(from_json(self.trace.steps[place].output)):
                    sources.setdefault(word, place)
        return last

    def _follow_copies(self, kept: Sequence[int]) -> None:
        """Notes who brought what acts were given to the letter, such as the passage that an edit replaces."""
        for act in self.acts:
            copied = [
                text.lower() for text in texts_in(self.trace.steps[act].input) if len(tokens_in(text[:_COPIED])) > 1
            ]
            copied = [text for text in copied if text not in self.trace.task_text]
            nearby = kept[max(0, bisect_left(kept, act) - NEARBY) : bisect_left(kept, act)] if copied else ()
            for place in nearby:
                if self.trace.tells[place]:
                    shown = " ".join(texts_in(from_json(self.trace.steps[place].output)))[:MAX_TEXT].lower()
                    if any(text in shown for text in copied):
                        self.suppliers.add(place)

    def _open_arguments(self, place: int) -> set[str]:
        """What an act is given that the task does not say."""
        found = tokens_of(self.trace.steps[place].input) - self.trace.task_forms - words("cues", "command_words")
        return {word for word in found if not (word.isdigit() and word.rstrip("0") in self.trace.task_numbers)}

    def _answer_rests(self, kept: Sequence[int]) -> bool:
        """Whether the answer states what no result says word for word, so that it was gathered from one."""
        if not self.trace.wanted.tells and self.acts:
            return False  # it reports what was done
        summed_up = words("cues", "derived").intersection(tokens_in(self.trace.said))
        if summed_up - words("cues", "counted") or not self.trace.stated:
            return True
        every = forms(self.trace.stated) | summed_up
        brought = set().union(*(every.intersection(self.trace.brought[place]) for place in kept))
        missing = {word for word in self.trace.stated if forms((word,)).isdisjoint(brought)}
        reckoned = any(word[0].isdigit() for word in missing) or not summed_up <= brought
        return reckoned or len(missing) * 2 > len(self.trace.stated)
