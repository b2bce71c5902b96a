"""One job of a cluster: what it tells, how it ends, what it leaves."""
from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Counter, Dict, Iterator, List, Mapping, Optional, Tuple
from urllib.parse import quote

from ._fields import Fields, parse_object
from ._http import HttpClient
from ._patience import Patience
from ._progress import ProgressPrinter
from .errors import Error, JobFailed, Unavailable
from .history import Curve, History, curve_of, plot_curve
from .reports import Epoch, Event, Report, event_of
from .result import Result, report_of

_ENDED = ("done", "failed", "stopped")
_STOP_S = 600.0            # until a job has ended in good order; large ones write large checkpoints
_MOST_REMEMBERED = 65_536  # reports whose repetition is noticed


@dataclass(frozen=True)
class JobInfo:
    """What the cluster knows of a job; keys as of `mangrove job show --json`.

    state         "waiting" (for nodes), "running", "done", "failed" or "stopped"
    epoch, step   of the last checkpoint
    message       why it failed
    began, ended  UTC, as text; "": not yet
    nodes         names
    """

    id: str
    title: str
    state: str
    priority: Optional[int]
    starts: int
    epoch: int
    step: int
    message: str
    began: str
    ended: str
    nodes: Tuple[str, ...]
    raw: Mapping[str, Any] = field(repr=False)


def _node_names(fields: Fields) -> Tuple[str, ...]:
    """A list, or a text with spaces between the names, as coordinators keep it."""
    is_text = isinstance(fields.raw.get("nodes"), str)
    return tuple(fields.text("nodes").split() if is_text else fields.texts("nodes"))


def job_info(raw: Any) -> JobInfo:
    """errors: data_loss."""
    fields = Fields(raw, "a job")
    priority = fields.optional_number("priority")
    return JobInfo(fields.required_text("id"), fields.text("title"), fields.text("state"),
                   None if priority is None else int(priority), fields.whole("starts"), fields.whole("epoch"),
                   fields.whole("step"), fields.text("message"), fields.text("began"), fields.text("ended"),
                   _node_names(fields), fields.raw)


class _Told:
    """Which reports a job has told already. After a broken connection the server tells them again."""

    def __init__(self) -> None:
        self._all: Counter[bytes] = Counter()
        self._again: Counter[bytes] = Counter()  # those that this connection may still repeat

    def begin(self) -> None:
        self._again = Counter(self._all)

    def is_new(self, kind: str, data: bytes) -> bool:
        key = blake2b(kind.encode() + b"\n" + data, digest_size=16).digest()
        if self._again[key] > 0:
            self._again[key] -= 1
            return False
        if len(self._all) < _MOST_REMEMBERED or key in self._all:
            self._all[key] += 1
        return True


class Job:
    """A job of a cluster, running or ended. Made by Cluster.train(), submit(), job() and jobs().

    It runs on the cluster, and goes on when this program ends.
    """

    def __init__(self, http: HttpClient, job_id: str, info: Optional[JobInfo] = None) -> None:
        self.id = job_id
        self._http, self._info = http, info
        self._path = "/api/v1/jobs/" + quote(job_id, safe="")
        self._epochs: Dict[Tuple[str, int], Epoch] = {}
        self._result: Optional[Result] = None
        self._end: Optional[Tuple[str, str]] = None  # state and message, once its stream has ended

    def info(self) -> JobInfo:
        """What the cluster knows of it now; asks, unless the job has ended and that is known."""
        if self._info is None or self._info.state not in _ENDED:
            self._info = job_info(self._http.get_json(self._path))
        return self._info

    @property
    def state(self) -> str:
        """ "waiting" (for nodes), "running", "done", "failed" or "stopped"; asks as info() does."""
        return self.info().state

    def reports(self) -> Iterator[Report]:
        """What the job tells, from its beginning as far as that is kept, until it has ended.

        Progress, Epoch, Event, NodesUse, last Result (if it has one), or a Report of another kind. If the connection
        breaks, it is made anew, and nothing is told twice.

        errors  Unavailable: the server does not come back within a minute; the job may run on. NotFound, Refused.
        """
        told, patience = _Told(), Patience(self._http.limits)
        while True:
            told.begin()
            patience.begin()
            try:
                for kind, data in self._told_by_server():
                    if kind == "end":
                        self._note_end(data)
                        return
                    if told.is_new(kind, data):
                        patience.has_succeeded()
                        report = report_of(kind, parse_object(data, f"a report of job {self.id}"))
                        self._note(report)
                        yield report
                why = Unavailable(f"{self._http.address} has ended the stream of {self.id} early")
            except Unavailable as error:
                why = error
            patience.wait(why, self._how_to_follow())

    def wait(self, progress: bool = True) -> Result:
        """Waits for the end of the job. progress: print to standard error how far it is.

        Ctrl-C (in a notebook: interrupt) ends only the waiting: the job goes on, and it is said how to follow it again.

        errors  JobFailed: it has failed, or was stopped and left no result. Those of reports().
        """
        printer = ProgressPrinter() if progress else None
        try:
            for report in self.reports() if self._end is None else ():
                if printer is not None:
                    printer.show(report)
        except KeyboardInterrupt:
            print(f"\n{self._how_to_follow()}", file=sys.stderr)
            raise
        finally:
            if printer is not None:
                printer.end()
        return self._result_or_error()

    @property
    def history(self) -> History:
        """As `fit` of Keras gives it back: `job.history.history["loss"]`, one value for each epoch that was told.

        Of a job that has ended all of them are fetched; of one that runs they are those that reports() or wait() have
        given so far.
        """
        return History(self._known_epochs())

    def curve(self) -> Curve:
        """The same as numpy arrays of shape [epochs]."""
        return curve_of(self._known_epochs())

    def plot(self, axes: Any = None) -> Any:
        """Draws loss and accuracy over the epochs with matplotlib. axes: where; None: in a new figure.

        Gives back the axes. errors: Error (failed_precondition) without matplotlib.
        """
        return plot_curve(self.curve(), self.id, axes)

    def stop(self) -> str:
        """Ends the job in good order, with a checkpoint, and waits for that. Gives back how it ended.

        errors  NotFound, Refused (a viewer may not); failed_precondition: it has ended already.
        """
        answer = self._http.post_json(self._path + "/stop", {}, timeout_s=_STOP_S)
        return Fields(answer, "the answer to stop").text("message")

    def events(self) -> List[Event]:
        """What has happened so far that a person wants to know of."""
        answer = Fields(self._http.get_json(self._path + "/events"), f"the events of {self.id}")
        return answer.items("events", event_of)

    def model(self, path: "os.PathLike[str] | str") -> str:
        """Downloads the trained network, an ONNX file, to this path. Gives back the path.

        The file is there completely, or not at all. At most 2 GiB are read: no ONNX file is longer.

        errors  failed_precondition: the job has not ended; NotFound: it has left no network; OSError: of the file.
        """
        target = os.fspath(path)
        folder = os.path.dirname(os.path.abspath(target))
        descriptor, part = tempfile.mkstemp(dir=folder, prefix=".mangrove-", suffix=".part")
        try:
            with os.fdopen(descriptor, "wb") as file:
                self._http.download(self._path + "/model", file, self._http.limits.longest_model)
            os.chmod(part, 0o666 & ~_umask())
            os.replace(part, target)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part)
            raise
        return target

    def __repr__(self) -> str:
        state = self._end[0] if self._end else self._info.state if self._info else "not asked for"
        return f"Job({self.id!r}, state={state!r})"

    def _told_by_server(self) -> Iterator[Tuple[str, bytes]]:
        for event in self._http.events(self._path + "/stream"):
            if event is not None:
                yield event.name, event.data

    def _note(self, report: Report) -> None:
        if isinstance(report, Epoch):
            self._epochs[report.phase, report.epoch] = report
        elif isinstance(report, Result):
            self._result = report
            for epoch in report.epochs_told:  # all that is left of them, long after the job
                self._epochs.setdefault((epoch.phase, epoch.epoch), epoch)

    def _note_end(self, data: bytes) -> None:
        fields = Fields(parse_object(data, f"the end of job {self.id}"), f"the end of job {self.id}")
        state, message = fields.required_text("state"), fields.text("message")
        if state not in _ENDED:  # "lost": the coordinator is away, and may go on with the job
            raise Unavailable(message or f"the coordinator of {self.id} is lost")
        self._end, self._info = (state, message), None

    def _known_epochs(self) -> List[Epoch]:
        if self._end is None and self.info().state in _ENDED:
            for _ in self.reports():
                pass  # they are noted
        return sorted(self._epochs.values(), key=lambda one: one.epoch)

    def _result_or_error(self) -> Result:
        state, message = self._end or ("lost", "")
        if self._result is not None and state != "failed":
            return self._result
        if state == "done":
            raise Error(f"{self.id} is done, and the server has sent no result; look at job.info() and job.events()",
                        code="data_loss")
        raise JobFailed(f"{self.id} {'was stopped' if state == 'stopped' else 'has failed'}"
                        f"{': ' + message if message else ''}; job.events() says what happened", state)

    def _how_to_follow(self) -> str:
        return f"{self.id} goes on without you; follow it again with cluster.job({self.id!r}).wait()"


def _umask() -> int:
    mask = os.umask(0o077)  # can only be read by setting it
    os.umask(mask)
    return mask
