"""Trains a language model as the teacher of the small one, and lets it write claims and questions and label them.

    python training/teacher.py FOLDER --model qwen.gguf --tokenizer tokenizer.json

FOLDER holds what `lessons.py` made. The teacher learns `lessons.jsonl.gz`, labels `kept.jsonl.gz` to show what it has
learnt (`kept_labelled.jsonl.gz`), writes a record for each row of `wanted.jsonl.gz` (`records.jsonl.gz`), and labels
what is asked about those records (`labelled.jsonl.gz`).

A lesson is a text with claims and questions and the classes that they may belong to, or a record to be written
(`teacher_text.py`). All claims of a text are read in one pass: each sees the text and itself. Meant for one large
GPU; `--seconds` limits how long it learns, writes and labels.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import torch
from lessons import asked, read_written
from teacher_net import load_teacher
from teacher_text import VERDICTS, Rows, as_json, header, question_about, read_rows, write_rows
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional
from transformers import DynamicCache, Qwen2ForCausalLM

LONGEST = 640
END = "<|endoftext|>"
FILLER = "\n"
"""Stands before a record, so that the prompts of a batch have one length; the model learns to pass over it."""
MOST_FILLER = 16
WARM_UP = 0.05
HEAT = 0.8
"""Below 1 it writes what is likelier."""
MOST_SKIPPED = 30


class Words:
    """The tokenizer; texts that are asked for again, or announced before, are looked up."""

    def __init__(self, path: Path) -> None:
        self.tokenizer = Tokenizer.from_file(str(path))
        self.known: dict[str, list[int]] = {}
        self.end = self.tokenizer.token_to_id(END)

    def announce(self, texts: Iterable[str]) -> None:
        """Many at once are encoded on all cores."""
        new = list(dict.fromkeys(text for text in texts if text not in self.known))
        self.known |= {text: found.ids for text, found in zip(new, self.tokenizer.encode_batch(new), strict=True)}

    def encode(self, text: str) -> list[int]:
        if text not in self.known:
            self.known[text] = self.tokenizer.encode(text).ids
        return self.known[text]

    def decode(self, ids: list[int]) -> str:
        return self.tokenizer.decode(ids, skip_special_tokens=True)


def announce_asks(words: Words, rows: Rows) -> None:
    words.announce(row["text"] for row in rows)
    words.announce(question_about(ask[0], ask[1]) for row in rows for ask in row["asks"])


@dataclass(slots=True)
class Encoded:
    """One sequence: token numbers, their places, and the part each belongs to (0: the text, which all others see)."""

    ids: list[int]
    places: list[int]
    parts: list[int]
    spots: list[int]
    """Where a verdict is read off."""
    allowed: list[int]
    """The classes that each verdict may have, as bits; empty where the teacher is to say them."""
    learn_from: int | None = None
    """In a record: the token from which on every next one is learnt."""


def encode_asks(words: Words, text: str, asks: Sequence[Sequence[Any]]) -> Iterator[tuple[Encoded, list[int]]]:
    """A text with its claims and questions, in as many sequences as it takes; with each, the numbers of its asks."""
    opening = words.encode(text)[: LONGEST // 2]
    made, held = _begun(opening), list[int]()
    for number, ask in enumerate(asks):
        own = words.encode(question_about(ask[0], ask[1]))[-LONGEST // 3 :]
        if held and len(made.ids) + len(own) > LONGEST:
            yield made, held
            made, held = _begun(opening), []
        held.append(number)
        made.ids += own
        made.places += range(len(opening), len(opening) + len(own))
        made.parts += [len(held)] * len(own)
        made.spots.append(len(made.ids) - 1)
        if len(ask) > 2:
            made.allowed.append(ask[2])
    if held:
        yield made, held


def _begun(opening: list[int]) -> Encoded:
    return Encoded(list(opening), list(range(len(opening))), [0] * len(opening), [], [])


def encode_record(words: Words, record: str, filler: int) -> Encoded:
    lead = words.encode(FILLER) * filler
    head, rest = record.split("\n", 1)
    known = lead + words.encode(head + "\n")
    ids = (known + words.encode(rest + END))[:LONGEST]
    return Encoded(ids, list(range(len(ids))), [0] * len(ids), [], [], len(known))


def batched(sequences: Sequence[Encoded], most: int, random: Random | None) -> list[list[int]]:
    """Numbers of sequences of like length; `most` tokens a batch, padding included."""
    order = sorted(range(len(sequences)), key=lambda number: len(sequences[number].ids))
    made: list[list[int]] = []
    batch: list[int] = []
    for number in order:
        if batch and (len(batch) + 1) * len(sequences[number].ids) > most:
            made.append(batch)
            batch = []
        batch.append(number)
    made.append(batch)
    if random:
        random.shuffle(made)
    return made


def hidden_states(model: Qwen2ForCausalLM, chosen: Sequence[Encoded], device: str) -> Tensor:
    width = max(len(item.ids) for item in chosen)
    ids, places = (torch.zeros((len(chosen), width), dtype=torch.long) for _ in range(2))
    parts = torch.full((len(chosen), width), -1)
    for row, item in enumerate(chosen):
        ids[row, : len(item.ids)] = torch.tensor(item.ids)
        places[row, : len(item.ids)] = torch.tensor(item.places)
        parts[row, : len(item.ids)] = torch.tensor(item.parts)
    ids, places, parts = ids.to(device), places.to(device), parts.to(device)
    mask = None
    if any(item.spots for item in chosen):
        before = torch.ones((width, width), dtype=torch.bool, device=device).tril()
        mask = (before & ((parts[:, None, :] == parts[:, :, None]) | (parts[:, None, :] == 0)))[:, None]
    found: Tensor = model.model(input_ids=ids, position_ids=places, attention_mask=mask, use_cache=False)[0]
    return found


def verdict_logits(model: Qwen2ForCausalLM, states: Tensor, chosen: Sequence[Encoded], classes: Tensor) -> Tensor:
    rows = [row for row, item in enumerate(chosen) for _ in item.spots]
    spots = [spot for item in chosen for spot in item.spots]
    read = states[torch.tensor(rows, device=states.device), torch.tensor(spots, device=states.device)]
    return (read @ model.get_input_embeddings().weight[classes].to(read.dtype).T).float()


def verdict_loss(logits: Tensor, allowed: Sequence[int]) -> Tensor:
    """Minus the log of the probability of all classes that are possible."""
    bits = torch.tensor([[bool(label >> place & 1) for place in range(3)] for label in allowed], device=logits.device)
    logs = torch.log_softmax(logits, -1)
    return -torch.logsumexp(logs.masked_fill(~bits, -1e4), -1).mean()


def record_loss(model: Qwen2ForCausalLM, states: Tensor, chosen: Sequence[Encoded]) -> Tensor:
    rows, spots, wanted = [], [], []
    for row, item in enumerate(chosen):
        assert item.learn_from is not None
        learnt = range(item.learn_from, len(item.ids))
        rows += [row] * len(learnt)
        spots += [place - 1 for place in learnt]
        wanted += [item.ids[place] for place in learnt]
    read = states[torch.tensor(rows, device=states.device), torch.tensor(spots, device=states.device)]
    return functional.cross_entropy(model.lm_head(read).float(), torch.tensor(wanted, device=states.device))


# --- learning --------------------------------------------------------------------------------------


def lessons_of(words: Words, rows: Rows, random: Random) -> list[Encoded]:
    made: list[Encoded] = []
    for row in rows:
        if "record" in row:
            made.append(encode_record(words, row["record"], random.randint(0, MOST_FILLER)))
        else:
            made += [item for item, _ in encode_asks(words, row["text"], row["asks"])]
    return made


def learn(model: Qwen2ForCausalLM, words: Words, rows: Rows, rate: float, most: int, seconds: float) -> None:
    """One pass over the lessons, or as far as the time goes; the rate falls to almost nothing by then."""
    random, device = Random(0), model.device.type
    announce_asks(words, [row for row in rows if "asks" in row])
    verdicts = lessons_of(words, [row for row in rows if "asks" in row], random)
    records = lessons_of(words, [row for row in rows if "record" in row], random)
    plan = [(False, batch) for batch in batched(verdicts, most, random)]
    plan += [(True, batch) for batch in batched(records, most // 2, random)]
    random.shuffle(plan)
    tokens = sum(len(item.ids) for item in (*verdicts, *records))
    print(
        f"{len(verdicts)} texts, {len(records)} records, {tokens / 1e6:.1f} million tokens, {len(plan)} steps",
        flush=True,
    )
    classes = classes_of(words, device)
    optimiser = torch.optim.AdamW(
        model.parameters(), lr=rate, betas=(0.9, 0.98), weight_decay=0.01, fused=device == "cuda"
    )
    model.train()
    started, skipped = time.perf_counter(), 0
    for step, (is_record, batch) in enumerate(plan, 1):
        spent = time.perf_counter() - started
        done = max(step / len(plan), spent / seconds)
        if done >= 1 and step < len(plan):
            print(f"stopped at step {step} of {len(plan)}", flush=True)
            break
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1.0, step / (WARM_UP * len(plan))) * max(0.02, 1 - done)
        chosen = [(records if is_record else verdicts)[number] for number in batch]
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            states = hidden_states(model, chosen, device)
            if is_record:
                loss = 0.5 * record_loss(model, states, chosen)
            else:
                allowed = [label for item in chosen for label in item.allowed]
                loss = verdict_loss(verdict_logits(model, states, chosen, classes), allowed)
        loss.backward()
        if torch.isfinite(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)):
            optimiser.step()
        else:
            skipped += 1
            width = max(len(item.ids) for item in chosen)
            print(
                f"step {step}: not finite, left out ({len(chosen)} of {width} tokens, record: {is_record})", flush=True
            )
            if skipped > MOST_SKIPPED:
                raise SystemExit("too many steps are not finite")
        optimiser.zero_grad(set_to_none=True)
        if step % 20 == 0 or step == len(plan):
            kind = "record" if is_record else "verdicts"
            print(
                f"step {step} of {len(plan)}: {kind} {loss.item():.3f}, {time.perf_counter() - started:.0f} s",
                flush=True,
            )
    model.eval()


def classes_of(words: Words, device: str) -> Tensor:
    return torch.tensor([words.encode(verdict)[0] for verdict in VERDICTS], device=device)


# --- labelling -------------------------------------------------------------------------------------


@torch.no_grad()
def label(model: Qwen2ForCausalLM, words: Words, rows: Rows, most: int, seconds: float) -> None:
    """Adds `shares` to every row: for each ask the probabilities of the three classes, or None where time was up."""
    device, classes = model.device.type, classes_of(words, model.device.type)
    announce_asks(words, rows)
    made: list[tuple[Encoded, int, list[int]]] = []
    for place, row in enumerate(rows):
        made += [(item, place, numbers) for item, numbers in encode_asks(words, row["text"], row["asks"])]
        row["shares"] = [None] * len(row["asks"])
    started = time.perf_counter()
    batches = batched([item for item, _, _ in made], most, Random(0))
    for batch in batches:
        if time.perf_counter() - started > seconds:
            break
        chosen = [made[number] for number in batch]
        items = [item for item, _, _ in chosen]
        logits = verdict_logits(model, hidden_states(model, items, device), items, classes)
        shares = iter(torch.softmax(logits, -1).cpu().tolist())
        for _, place, numbers in chosen:
            for number in numbers:
                rows[place]["shares"][number] = [round(share, 4) for share in next(shares)]
    labelled = sum(all(share is not None for share in row["shares"]) for row in rows)
    print(f"{labelled} of {len(rows)} texts labelled in {time.perf_counter() - started:.0f} s", flush=True)


# --- writing ---------------------------------------------------------------------------------------


@torch.no_grad()
def write(
    model: Qwen2ForCausalLM, words: Words, wanted: Rows, size: int, longest: int, seconds: float
) -> Iterator[dict[str, Any]]:
    """Each row that the time suffices for (`l`, `k`, and `p` where a text is given), with what is written as `said`."""
    filler = words.encode(FILLER)[0]
    openings = [header(row["l"], row["k"]) + (row["p"] + "\n" if row.get("p") else "") for row in wanted]
    words.announce(openings)
    prompts = [words.encode(opening) for opening in openings]
    order = sorted(range(len(wanted)), key=lambda number: len(prompts[number]))
    chunks = [order[start : start + size] for start in range(0, len(order), size)]
    Random(0).shuffle(chunks)
    started = time.perf_counter()
    for count, chunk in enumerate(chunks, 1):
        spent = time.perf_counter() - started
        if spent > seconds * (1 - 0.5 / count):
            break
        width = max(len(prompts[number]) for number in chunk)
        begun = torch.tensor([[filler] * (width - len(prompts[number])) + prompts[number] for number in chunk])
        for number, ids in zip(chunk, sampled(model, begun.to(model.device), longest, words.end), strict=True):
            yield {**wanted[number], "said": words.decode(ids)}
        print(f"batch {count} of {len(chunks)}: {time.perf_counter() - started:.0f} s", flush=True)


def sampled(model: Qwen2ForCausalLM, ids: Tensor, longest: int, end: int, most_likely: int = 60) -> list[list[int]]:
    """Continuations, one token at a time; rows that have ended are taken out of the batch now and then."""
    cache, rows = DynamicCache(), torch.arange(len(ids), device=ids.device)
    written: list[list[int]] = [[] for _ in range(len(ids))]
    steps: list[tuple[Tensor, Tensor]] = []
    alive = torch.ones(len(ids), dtype=torch.bool, device=ids.device)
    for step in range(longest):
        states = model.model(input_ids=ids, past_key_values=cache, use_cache=True)[0][:, -1]
        logits, tokens = model.lm_head(states).float().topk(most_likely)
        shares = torch.softmax(logits / HEAT, -1)
        shares = shares.masked_fill(shares.cumsum(-1) - shares > 0.95, 0.0)
        ids = tokens.gather(1, torch.multinomial(shares, 1))
        ids = torch.where(alive[:, None], ids, end)
        steps.append((rows, ids[:, 0]))
        alive &= ids[:, 0] != end
        if step % 16 == 15:
            left = int(alive.sum())
            if left <= 0.03 * len(written):
                break
            if left <= 0.75 * len(rows):
                kept = alive.nonzero()[:, 0]
                cache.batch_select_indices(kept)
                ids, rows, alive = ids[kept], rows[kept], alive[kept]
    for numbers, tokens in steps:
        for number, token in zip(numbers.tolist(), tokens.tolist(), strict=True):
            if token != end:
                written[number].append(token)
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True, help="the GGUF file, with its index (`teacher_net.py`)")
    parser.add_argument(
        "--seconds", type=float, nargs=3, default=(400.0, 300.0, 300.0), help="to learn, write and label"
    )
    parser.add_argument("--rate", type=float, default=2e-5)
    parser.add_argument("--tokens", type=int, default=16_384, help="in a batch to learn")
    parser.add_argument("--size", type=int, default=2_048, help="records written at once")
    parser.add_argument("--longest", type=int, default=400, help="tokens of what is written")
    args = parser.parse_args()
    folder, words = args.folder, Words(args.tokenizer)
    torch.backends.cuda.enable_cudnn_sdp(False)  # its gradients were not finite for some lengths
    model = load_teacher(args.model, "cuda" if torch.cuda.is_available() else "cpu")
    learn(model, words, read_rows(folder / "lessons.jsonl.gz"), args.rate, args.tokens, args.seconds[0])
    model = model.to(torch.bfloat16)
    kept = read_rows(folder / "kept.jsonl.gz")
    label(model, words, kept, 4 * args.tokens, args.seconds[2])
    write_rows(folder / "kept_labelled.jsonl.gz", kept)
    written = write(model, words, read_rows(folder / "wanted.jsonl.gz"), args.size, args.longest, args.seconds[1])
    records = [record for row in written if (record := read_written(row)) is not None]
    write_rows(folder / "records.jsonl.gz", map(as_json, records))
    random = Random(3)
    rows = [row for number, record in enumerate(records) for row in asked(record, number, random)]
    print(f"{len(records)} records, {sum(len(row['asks']) for row in rows)} things asked", flush=True)
    label(model, words, rows, 4 * args.tokens, args.seconds[2])
    write_rows(folder / "labelled.jsonl.gz", rows)


if __name__ == "__main__":
    main()
