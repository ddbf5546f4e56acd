"""The engine of a cluster: a worker pool (`engine.worker_pool`) whose workers are Ray actors.

This process reads the cases, writes the one journal and holds the one budget; only judging is spread. So a run that was
begun on a cluster can be continued on a laptop and the other way round, and nothing that reads a run knows of Ray.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import queue
import socket
import threading
from collections.abc import AsyncIterator
from typing import Any, cast

from krino.engine.interface import Assignment, OpenCase, ReceiveAny
from krino.engine.processes import usable_cores
from krino.engine.worker import Worker
from krino.engine.worker_messages import FromWorker, ToWorker, WorkerSetup
from krino.engine.worker_pool import WorkerLost, WorkerPool
from krino.errors import UsageProblem
from krino.labellers.local import LocalLabeller

CPU_SHARE = 0.9
"""CPUs for one worker: as many workers as CPUs then leave room for something else to be placed."""
MODEL_WORKERS = 4
"""With a model, workers only write questions and read answers: a few keep up with any endpoint."""
LOOPBACK = "127.0.0.1"
REPORT_SECONDS = 0.5
"""How long a worker collects results before it sends them. Ray takes some milliseconds of CPU for a message, whatever
is in it: with four a second a quick judge gets 3 % less done."""
REACHED_WITHIN = 20.0
"""Seconds within which a cluster must answer at its address."""
OBJECT_STORE = 100 * 1024 * 1024
"""Bytes. Little goes through it: a second of work for each worker."""


class RayEngine:
    """An `Engine`. `address` as in `ray.init` (`auto`, HOST:PORT); None starts a cluster on this machine, for this run.

    A program that is connected to a cluster already stays so, and its cluster is used.
    """

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        self._workers = workers
        self._address = address
        self._pool: WorkerPool | None = None
        self._stopping = False

    async def run(self, assignment: Assignment, cases: AsyncIterator[OpenCase], receive: ReceiveAny) -> None:
        """Runs a worker pool on a Ray cluster. Connects first if this program is not connected: to the address, or to a
        cluster that it starts on this machine; and disconnects at the end."""
        ray = import_ray()
        ours = not ray.is_initialized()
        if ours:
            await asyncio.to_thread(_connect, ray, self._address)  # on a thread of its own it leaves our signals alone
        try:
            workers = self._workers or _usual_workers(ray, assignment)
            _refuse_what_never_fits(ray, workers)
            actor = ray.remote(num_cpus=CPU_SHARE, max_concurrency=2, max_restarts=0)(RayWorker)

            async def start(setup: WorkerSetup) -> RayLink:
                return RayLink(ray, actor.options(scheduling_strategy="SPREAD").remote(setup))

            self._pool = WorkerPool(workers, start, REPORT_SECONDS)
            if self._stopping:
                self._pool.stop()
            await self._pool.run(assignment, cases, receive)
        finally:
            if ours:
                await asyncio.to_thread(ray.shutdown)

    def stop(self) -> None:
        self._stopping = True
        if self._pool is not None:
            self._pool.stop()


class RayWorker:
    """A worker as a Ray actor. It has two threads of its own: one may wait in `next_messages` during `receive`.

    Ray ends it with the program that started it, however that ends.
    """

    def __init__(self, setup: WorkerSetup) -> None:
        setup.forget_keys()
        self._outbox: queue.SimpleQueue[list[FromWorker]] = queue.SimpleQueue()
        self._worker = Worker(setup, self._outbox.put)
        threading.Thread(target=self._worker.work, daemon=True).start()

    def receive(self, messages: bytes) -> None:
        self._worker.receive(pickle.loads(messages))  # noqa: S301 - from the pool, as the setup is

    def next_messages(self) -> bytes:
        return pickle.dumps(self._outbox.get(), pickle.HIGHEST_PROTOCOL)


class RayLink:
    """A `Link` to an actor. Messages go as bytes: Ray's own pickler asks about every object in them."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray = ray
        self._actor = actor

    async def send(self, messages: list[ToWorker]) -> None:
        await self._result(self._actor.receive.remote(pickle.dumps(messages, pickle.HIGHEST_PROTOCOL)))

    async def receive(self) -> list[FromWorker]:
        messages = await self._result(self._actor.next_messages.remote())
        return cast(list[FromWorker], pickle.loads(messages))  # noqa: S301 - from a worker of ours

    async def close(self) -> None:
        with contextlib.suppress(Exception):  # the cluster may be gone as well
            self._ray.kill(self._actor)

    async def _result(self, promise: Any) -> Any:
        """Awaits and returns a result of an actor; raises `WorkerLost` for a fault of Ray."""
        try:
            return await promise
        except self._ray.exceptions.RayError as error:
            raise WorkerLost(str(error).strip()) from None


def import_ray() -> Any:
    """Imports Ray; raises `UsageProblem` if it is not installed. A command asks before it creates anything."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        raise UsageProblem("--engine ray needs Ray: pip install 'krino[ray]'") from None
    return ray


def refuse_unreachable(ray: Any, address: str) -> None:
    """Raises `UsageProblem` if no cluster answers there. Ray itself would try for a quarter of an hour, and a command
    should know before it creates anything."""
    try:
        found = _found_by_ray(ray) if address == "auto" else address
        host, _, port = found.removeprefix("ray://").rpartition(":")
        if host and port.isdecimal():
            socket.create_connection((host.strip("[]"), int(port)), REACHED_WITHIN).close()
    except (OSError, OverflowError) as fault:
        raise UsageProblem(
            f"the Ray cluster {address} (--ray-address) cannot be reached: {_in_our_words(fault)}; `ray status` on its "
            "head node says whether it is up"
        ) from None


def _found_by_ray(ray: Any) -> str:
    """Returns the address that `auto` means: RAY_ADDRESS, else a cluster that runs here, else the last that was begun
    here, which may have been killed since. Ray has no public name for this search: where it is not found, returns
    `auto`, and Ray searches as it connects."""
    services = getattr(getattr(ray, "_private", None), "services", None)
    search = getattr(services, "canonicalize_bootstrap_address", None)
    return "auto" if search is None else str(search("auto"))


def _in_our_words(fault: Exception) -> str:
    return str(fault).replace("`--address`", "`--ray-address`")  # Ray speaks of a flag of its own


def _connect(ray: Any, address: str | None) -> None:
    """Connects to a Ray cluster, or starts one on this machine that only this machine can reach; raises `UsageProblem`
    if that fails."""
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is not None:
        refuse_unreachable(ray, address)
    try:
        if address is None:
            own = {"_node_ip_address": LOOPBACK, "include_dashboard": False, "object_store_memory": OBJECT_STORE}
            ray.init(address="local", num_cpus=usable_cores(), **own, **quiet)
        else:
            ray.init(address=address, **quiet)
    except Exception as fault:
        where = "a Ray cluster on this machine" if address is None else f"the Ray cluster {address} (--ray-address)"
        raise UsageProblem(f"{where} cannot be reached: {type(fault).__name__}: {_in_our_words(fault)}") from None


def _usual_workers(ray: Any, assignment: Assignment) -> int:
    cpus = max(1, int(ray.cluster_resources().get("CPU", 1)))
    return cpus if isinstance(assignment.labeller, LocalLabeller) else min(cpus, MODEL_WORKERS)


def _refuse_what_never_fits(ray: Any, workers: int) -> None:
    """Raises `UsageProblem` for more workers than the cluster can hold: Ray would wait for ever."""
    cpus = float(ray.cluster_resources().get("CPU", 0.0))
    if workers * CPU_SHARE > cpus:
        raise UsageProblem(
            f"--workers {workers}: the Ray cluster has {cpus:g} CPUs, which are enough for {int(cpus / CPU_SHARE)} "
            f"workers at {CPU_SHARE} each"
        )
