"""Averages the weights of several trainings of the entailment model, and writes what the mean says on pairs kept out.

    python training/average_entailment.py pairs.npz FOLDER FOLDER --into FOLDER

Each folder is one that `train_entailment.py` wrote; all trainings must have begun from the same weights. It runs on a
CPU: `--most` of the pairs kept out, taken at even distances so that every origin has its share, are enough to calibrate
by.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from train_entailment import begun, report, unpacked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--most", type=int, default=8_000)
    args = parser.parse_args()
    trained = [load_file(folder / "entailment.safetensors") for folder in args.folders]
    mean = {name: np.mean([weights[name] for weights in trained], axis=0, dtype=np.float32) for name in trained[0]}
    kept = unpacked(dict(np.load(args.pairs)), "kept")
    places = np.linspace(0, len(kept) - 1, min(args.most, len(kept))).astype(int)
    report(begun(mean), kept.some(places.tolist()), args.into, "cpu")


if __name__ == "__main__":
    main()
