"""A Ray cluster of two nodes on loopback, made with Ray's own multi-node test utility in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from waiting import children

ON_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}
"""For whoever connects to it: Ray looks for a cluster on loopback only where it takes the system for a desktop."""
SCRIPT = """
import sys
from ray.cluster_utils import Cluster
node = {"num_cpus": 2, "node_ip_address": "127.0.0.1", "object_store_memory": 80 * 1024 * 1024}
nodes = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
nodes.add_node(**node)
print(nodes.address, flush=True)
sys.stdin.read()
nodes.shutdown()
"""


class Cluster(NamedTuple):
    """Where it is, and the process that has started its nodes, each with two CPUs to give out."""

    address: str
    pid: int

    def flags(self, workers: int = 2) -> list[str]:
        return ["--engine", "ray", "--ray-address", self.address, "--workers", str(workers)]

    def workers(self) -> list[int]:
        """The processes that judge."""
        started = [pid for node in children(self.pid) for pid in children(node)]
        return [pid for pid in started if "ray::RayWorker" in Path(f"/proc/{pid}/cmdline").read_text()]


@contextmanager
def two_nodes() -> Iterator[Cluster]:
    command, settings = [sys.executable, "-c", SCRIPT], {**os.environ, **ON_LOOPBACK}
    with subprocess.Popen(command, env=settings, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as nodes:
        assert nodes.stdout is not None
        assert nodes.stdin is not None
        yield Cluster(nodes.stdout.readline().strip(), nodes.pid)
        nodes.stdin.close()
