"""Writes an Excel sheet with pandas and openpyxl, and Hugging Face datasets as Arrow and Parquet folders."""

import sys
from pathlib import Path

import pandas
from datasets import Dataset, DatasetDict

into = Path(sys.argv[1])
rows = {
    "id": ["height", "year"],
    "question": ["How tall is it?", "When was it built?"],
    "context": [["It was built in 1958.", "It is 102 metres tall."], ["It was built in 1958."]],
    "answer": ["It is 102 metres tall.", None],
    "votes": [3, 4],
}
frame = pandas.DataFrame(rows)
cells = frame.assign(context=frame["context"].map(str), seen=pandas.Timestamp("2026-11-01"))
cells.to_excel(into / "cases.xlsx", index=False)
data = Dataset.from_dict(rows)
data.save_to_disk(into / "hf_dataset")
DatasetDict({"train": data.select([0]), "test": data.select([1])}).save_to_disk(into / "hf_splits")
(into / "hf_parquet").mkdir(exist_ok=True)
data.to_parquet(into / "hf_parquet" / "train-00000-of-00001.parquet")
