"""Agreement of the three annotators of the PandaLM test set: `agreement_pandalm.py DATA_FOLDER`.

The folder holds `data.jsonl.gz` (or .jsonl), a row a pair of answers, with `annotator1` to `annotator3`: 0 for a tie,
1 or 2 for the better answer. Printed: Krippendorff's alpha of all three, and Cohen's kappa of each two.
"""

from __future__ import annotations

import argparse
import sys
from itertools import combinations
from pathlib import Path

import numpy as np

from krino.cases import read_cases
from krino.stats.rater_agreement import Ratings, cohen_kappa, raw_agreement

ANNOTATORS = ("annotator1", "annotator2", "annotator3")
ALPHA = 0.864
"""As computed by others."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    path = next((folder / name for name in ("data.jsonl", "data.jsonl.gz") if (folder / name).exists()), None)
    if path is None:
        sys.exit(f"{folder} has no data.jsonl or data.jsonl.gz")
    records = [item.record for item in read_cases([path]) if item.record is not None]
    columns = [np.array([int(record[name]) for record in records], np.intp) for name in ANNOTATORS]
    alpha = Ratings.from_table(np.column_stack(columns)).alpha()
    agrees = "as" if round(alpha, 3) == ALPHA else "NOT as"
    print(f"{len(records)} pairs, three annotators: alpha {alpha:.6f}, {agrees} others computed it ({ALPHA})")
    for (one, first), (other, second) in combinations(zip(ANNOTATORS, columns, strict=True), 2):
        kappa, raw = cohen_kappa(first, second), raw_agreement(first, second)
        print(f"{one} and {other}: kappa {kappa:.3f}, raw agreement {raw:.3f}")


if __name__ == "__main__":
    main()
