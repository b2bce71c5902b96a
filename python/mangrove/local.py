"""A cluster, or a server of networks, on this machine, for trying things out."""
from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import weakref
from pathlib import Path
from typing import List, Mapping, Optional, Pattern, Sequence

from ._address import parse_address
from ._http import HttpClient, Limits
from .cluster import ADVICE, Cluster
from .errors import Error, InvalidArgument, Unavailable
from .service import Service

_START_S = 30.0    # until a process says that it is ready, and all nodes have joined
_END_S = 10.0      # for a process to end in good order
_LOOK_EVERY_S = 0.05
_LOG_TAIL = 2_000  # bytes of a log that an error shows

_COORDINATOR_READY = re.compile(r"^coordinator ready on (\S+)$", re.MULTILINE)
_DASHBOARD_READY = re.compile(r"(https?://\S+)")
_SERVICE_READY = re.compile(r"^serving on (\S+)", re.MULTILINE)


def find_program(program: "Optional[os.PathLike[str] | str]" = None) -> str:
    """The path of `mangrove`: this one, that of MANGROVE_PROGRAM, or the one on the PATH.

    errors  InvalidArgument: there is none.
    """
    wanted = os.fspath(program) if program is not None else os.environ.get("MANGROVE_PROGRAM") or "mangrove"
    found = shutil.which(wanted)
    if found is None:
        raise InvalidArgument(f"there is no program '{wanted}': build it with scripts/build.sh release mangrove, and "
                              "give its path as program=..., in MANGROVE_PROGRAM, or put it on the PATH")
    return os.path.abspath(found)


class _Processes:
    """Programs with their logs in one folder. stop() ends them, the last one first."""

    def __init__(self, program: str) -> None:
        self._program, self.folder = program, tempfile.mkdtemp(prefix="mangrove-")
        self._running: List["subprocess.Popen[bytes]"] = []
        self._environment = {**os.environ, "XDG_CONFIG_HOME": os.path.join(self.folder, "config")}

    def start(self, name: str, arguments: Sequence[str]) -> Path:
        """Gives back the file with what it prints. Ctrl-C on a terminal does not reach it: jobs go on."""
        output = Path(self.folder, name + ".out")
        with open(output, "wb") as out, open(self._log(name), "wb") as log:
            self._running.append(subprocess.Popen([self._program, *arguments], stdin=subprocess.DEVNULL, stdout=out,
                                                  stderr=log, env=self._environment, start_new_session=True))
        return output

    def wait_for(self, name: str, output: Path, pattern: Pattern[str]) -> str:
        """What the pattern's group finds in the output of the process that was started last.

        errors  Error: it has ended; Unavailable: it does not get ready.
        """
        give_up = time.monotonic() + _START_S
        while True:
            found = pattern.search(output.read_text(errors="replace"))
            if found is not None:
                return found[1]
            status = self._running[-1].poll()
            if status is not None:
                raise Error(f"`mangrove {name}` has ended with status {status}: {self._tail(name)}")
            if time.monotonic() > give_up:
                raise Unavailable(f"`mangrove {name}` is not ready after {_START_S:g} s: {self._tail(name)}")
            time.sleep(_LOOK_EVERY_S)

    def check(self, names: Sequence[str]) -> None:
        """errors: Error (one of them, in the order of their start, has ended)."""
        for name, process in zip(names, self._running):
            if process.poll() is not None:
                raise Error(f"`mangrove {name}` has ended with status {process.returncode}: {self._tail(name)}")

    def stop(self) -> None:
        """Ends all in good order; kills those that take longer than ten seconds. Removes the folder."""
        for process in reversed(self._running):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(_END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._running.clear()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _log(self, name: str) -> Path:
        return Path(self.folder, name + ".log")

    def _tail(self, name: str) -> str:
        with contextlib.suppress(OSError):
            return self._log(name).read_bytes()[-_LOG_TAIL:].decode("utf-8", "replace").strip() or "it has said nothing"
        return "it has no log"


class LocalCluster(Cluster):
    """A cluster of processes on this machine. close(), or the end of a `with` block, or of this program, stops it.

    coordinator  HOST:PORT, for `mangrove top --coordinator ...`
    url          of the dashboard, with its token: open it in a browser
    """

    def __init__(self, http: HttpClient, processes: _Processes, coordinator: str, url: str) -> None:
        super().__init__(http)
        self.coordinator, self.url = coordinator, url
        self._processes = processes
        self._stop = weakref.finalize(self, processes.stop)

    def close(self) -> None:
        """Stops the cluster with its jobs, and removes its folder."""
        super().close()
        self._stop()


def local_cluster(nodes: int = 4, *, program: "Optional[os.PathLike[str] | str]" = None, threads: int = 1,
                  data_dir: "Optional[os.PathLike[str] | str]" = None) -> LocalCluster:
    """Starts a coordinator, nodes and a dashboard on this machine, in a temporary folder, and connects to them.

        with mangrove.local_cluster(nodes=4) as cluster:
            result = cluster.train(model="lenet", data="glyphs").wait()

    nodes     worker nodes, named node-1, node-2, ...
    program   the path of `mangrove`; None: MANGROVE_PROGRAM, else the one on the PATH
    threads   of each node
    data_dir  folder of the data sets; None: as of `mangrove`

    Only this machine reaches it. It has certificates of its own, and leaves those of the user alone.

    errors  InvalidArgument: no program, no nodes; Error: a process has ended, with the end of its log; Unavailable: they
            are not ready after 30 s.
    """
    if nodes < 1 or threads < 1:
        raise InvalidArgument(f"a cluster needs a node and a thread: nodes={nodes}, threads={threads}")
    processes = _Processes(find_program(program))
    data = [] if data_dir is None else ["--data-dir", os.path.abspath(os.fspath(data_dir))]
    try:
        output = processes.start("coordinator", ["coordinator", "--listen", "127.0.0.1:0", "--no-announce", "--state",
                                                 os.path.join(processes.folder, "state"), "--allow-path", "/", *data])
        coordinator = processes.wait_for("coordinator", output, _COORDINATOR_READY)
        output = processes.start("dashboard", ["dashboard", "--coordinator", coordinator, "--listen", "127.0.0.1:0",
                                               *data])
        url = processes.wait_for("dashboard", output, _DASHBOARD_READY)
        names = [f"node-{i}" for i in range(1, nodes + 1)]
        for name in names:
            processes.start(name, ["node", "--coordinator", coordinator, "--listen", "127.0.0.1:0", "--name", name,
                                   "--threads", str(threads), "--allow-path", "/", *data])
        http = HttpClient(parse_address(url), ca=None, server_name=None, insecure=False, limits=Limits(),
                          advice=ADVICE)
        cluster = LocalCluster(http, processes, coordinator, url)
    except BaseException:
        processes.stop()
        raise
    try:
        _wait_for_nodes(cluster, processes, names)
    except BaseException:
        cluster.close()
        raise
    return cluster


def _wait_for_nodes(cluster: Cluster, processes: _Processes, names: Sequence[str]) -> None:
    give_up = time.monotonic() + _START_S
    while True:
        states: Mapping[str, str] = {node.name: node.state for node in cluster.nodes()}
        waiting = [name for name in names if states.get(name) != "alive"]
        if not waiting:
            return
        processes.check(["coordinator", "dashboard", *names])
        if time.monotonic() > give_up:
            raise Unavailable(f"these nodes have not joined after {_START_S:g} s: {', '.join(waiting)}")
        time.sleep(_LOOK_EVERY_S)


class LocalService(Service):
    """A server on this machine. close(), or the end of a `with` block, or of this program, stops it."""

    def __init__(self, url: str, model: str, processes: _Processes) -> None:
        super().__init__(url, model)
        self._stop = weakref.finalize(self, processes.stop)

    def close(self) -> None:
        """Stops the server."""
        super().close()
        self._stop()


def local_service(model: "os.PathLike[str] | str", *, name: str = "model",
                  program: "Optional[os.PathLike[str] | str]" = None) -> LocalService:
    """Starts `mangrove serve` for an ONNX file on this machine, and gives a Service for it.

        with mangrove.local_service("lenet.onnx") as service:
            print(service.classify("seven.png"))

    Only this machine reaches it. errors: InvalidArgument: no program; Error: it has ended, with the end of its log, as
    where there is no such file.
    """
    processes = _Processes(find_program(program))
    try:
        output = processes.start("serve", ["serve", name, "--model", os.path.abspath(os.fspath(model)), "--listen",
                                           "127.0.0.1:0", "--grpc", "127.0.0.1:0"])
        return LocalService(processes.wait_for("serve", output, _SERVICE_READY), name, processes)
    except BaseException:
        processes.stop()
        raise
