"""How near pairs of texts are in meaning, by the embedded sentence model; it is loaded when first needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

TextPair = tuple[str, str]


def reads(language: str | None) -> bool:
    """The sentence model knows English; a text too short to tell is taken for it."""
    return language is None or language == "en"


def cosines(pairs: Sequence[TextPair]) -> list[float]:
    """One number for each pair, 0.0 where it would be negative; each text is embedded once."""
    if not pairs:
        return []
    from krino.models.embedder import embed

    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    place = {text: number for number, text in enumerate(texts)}
    vectors = embed(texts)
    return [max(0.0, float(vectors[place[first]] @ vectors[place[second]])) for first, second in pairs]


def measure(pairs: Iterable[TextPair]) -> Mapping[TextPair, float]:
    """The same, to look pairs up in."""
    distinct = list(dict.fromkeys(pairs))
    return dict(zip(distinct, cosines(distinct), strict=True))
