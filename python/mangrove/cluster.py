"""A cluster, as `mangrove dashboard` shows it: its nodes, jobs and members."""
from __future__ import annotations

import os
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, Type, Union
from urllib.parse import quote

import numpy as np

from ._address import dashboard_address
from ._fields import Fields, parse_object
from ._http import HttpClient, Limits
from ._patience import Patience
from ._strategies import without_aliases
from ._yaml import job_from_yaml
from .errors import Error, InvalidArgument, Unavailable
from .job import Job, job_info

ADVICE: Mapping[int, str] = {
    401: "copy the whole address that `mangrove dashboard` prints, with its #token=",
    403: "the token's role does not allow this: viewers look, clients also start and stop their jobs, admins also "
         "invite and revoke",
    429: "try again in a moment",
    503: "is the coordinator running?",
}


@dataclass(frozen=True)
class Session:
    """Who you are here. role: "viewer", "client" or "admin"; version: of the program."""

    version: str
    coordinator: str
    role: str


@dataclass(frozen=True)
class Role:
    """What a node does for a job, such as "worker 2"."""

    job: str
    role: str


@dataclass(frozen=True)
class Node:
    """One node now; keys as of `mangrove top --json`, all of them in `raw`.

    state          "alive", "idle" (put aside), "lost" or "left"
    cpu_percent    of one core
    sent_per_s, received_per_s   bytes a second
    temperature_c  of the hottest sensor, degrees Celsius; None without one
    steps          of a training worker: `count` and the means `load_s`, `compute_s`, `encode_s`, `wire_s`, `wait_s`
    """

    name: str
    state: str
    roles: Tuple[Role, ...]
    cores: int
    cpu_percent: float
    memory_bytes: int
    rss_bytes: int
    sent_per_s: float
    received_per_s: float
    heartbeat_age_s: float
    temperature_c: Optional[float]
    steps: Mapping[str, Any]
    raw: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True)
class RunningJob:
    """A job that waits or runs, as the cluster's state names it. progress: the last such report's keys."""

    id: str
    kind: str
    strategy: str
    state: str
    priority: int
    share: float
    progress: Mapping[str, Any]


@dataclass(frozen=True)
class Snapshot:
    """The state of a cluster at one moment.

    straggler  the node that takes much longer for a step than the others; None: there is none
    refused    how often the coordinator has refused something since it began, by the reason
    problem    "", or why the coordinator does not answer; then the rest is what was known before
    """

    coordinator: str
    nodes: Tuple[Node, ...]
    jobs: Tuple[RunningJob, ...]
    straggler: Optional[str]
    refused: Mapping[str, Any]
    problem: str = ""


@dataclass(frozen=True)
class Member:
    """Who belongs to the cluster, or is invited. since, expires: seconds since 1970; since 0: not yet."""

    name: str
    role: str
    state: str
    since: float
    expires: float
    invitation: str
    uses_left: int


@dataclass(frozen=True)
class Key:
    """A key that jobs take.

    type        "text", "number", "whole" (a number), "flag", "size", "duration", ...
    default     as text; "" where it depends
    range       of a number, such as "0 or more"; "": any
    choices     values that it may have, or that are examples; (): it has none
    strategies  that read it; (): all
    """

    name: str
    group: str
    type: str
    help: str
    default: str
    range: str
    choices: Tuple[str, ...]
    strategies: Tuple[str, ...]


def _role(raw: Any) -> Role:
    fields = Fields(raw, "a role of a node")
    return Role(fields.text("job"), fields.text("role"))


def _node(raw: Any) -> Node:
    fields = Fields(raw, "a node")
    return Node(fields.required_text("name"), fields.text("state"), tuple(fields.items("roles", _role)),
                fields.whole("cores"), fields.number("cpu_percent"), fields.whole("memory_bytes"),
                fields.whole("rss_bytes"), fields.number("sent_per_s"), fields.number("received_per_s"),
                fields.number("heartbeat_age_s"), fields.optional_number("temperature_c"),
                fields.optional_object("steps") or {}, fields.raw)


def _running_job(raw: Any) -> RunningJob:
    fields = Fields(raw, "a job of the cluster")
    return RunningJob(fields.required_text("id"), fields.text("kind"), fields.text("strategy"), fields.text("state"),
                      fields.whole("priority"), fields.number("share", 1.0), fields.optional_object("progress") or {})


def _snapshot(raw: Any, problem: str = "") -> Snapshot:
    fields = Fields(raw, "the state of the cluster")
    return Snapshot(fields.text("coordinator"), tuple(fields.items("nodes", _node)),
                    tuple(fields.items("jobs", _running_job)), fields.text("straggler") or None,
                    fields.optional_object("refused") or {}, problem)


def _member(raw: Any) -> Member:
    fields = Fields(raw, "a member")
    return Member(fields.text("name"), fields.text("role"), fields.text("state"), fields.number("since"),
                  fields.number("expires"), fields.text("invitation"), fields.whole("uses_left"))


def _key(raw: Any) -> Key:
    fields = Fields(raw, "a key of jobs")
    return Key(fields.required_text("name"), fields.text("group"), fields.text("type"), fields.text("help"),
               fields.text("default"), fields.text("range"), tuple(fields.texts("choices")),
               tuple(fields.texts("strategies")))


def _key_value(name: str, value: Any) -> Any:
    """A key's value as JSON has it. errors: InvalidArgument (no text, number, flag, path or list of these)."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, (list, tuple)):
        return ",".join(str(_key_value(name, one)) for one in value)
    if isinstance(value, (str, bool, int, float)):
        return value
    raise InvalidArgument(f"the key '{name}' is a {type(value).__name__}: expected a text, a number, True or False, a "
                          "path, or a list of these")


class Cluster:
    """A running cluster. Made by mangrove.connect(); any thread may call any method. `with` closes its connections."""

    def __init__(self, http: HttpClient) -> None:
        self._http = http

    def session(self) -> Session:
        """Who you are here: version, coordinator and role. errors: Unavailable, Refused (wrong token)."""
        fields = Fields(self._http.get_json("/api/v1/session"), "the session")
        return Session(fields.required_text("version"), fields.text("coordinator"), fields.required_text("role"))

    def snapshot(self) -> Snapshot:
        """Nodes, jobs and the straggler, as they are now."""
        return _snapshot(self._http.get_json("/api/v1/cluster"))

    def nodes(self) -> List[Node]:
        """The nodes as they are now."""
        return list(self.snapshot().nodes)

    def watch(self) -> Iterator[Snapshot]:
        """The state of the cluster now, and then again each second, without end: leave the loop with `break`.

        While the coordinator does not answer, the last state comes with its `problem`. If the connection breaks, it is
        made anew. errors: Unavailable (the server does not come back within a minute), Refused.
        """
        patience, raw = Patience(self._http.limits), {}  # type: Tuple[Patience, Dict[str, Any]]
        while True:
            patience.begin()
            why = Unavailable(f"{self._http.address} has ended the stream of the cluster")
            try:
                for event in self._http.events("/api/v1/cluster/stream"):
                    if event is None or event.name not in ("cluster", "problem"):
                        continue
                    told = parse_object(event.data, "an event of the cluster")
                    patience.has_succeeded()
                    if event.name == "cluster":
                        raw = told
                        yield _snapshot(raw)
                    else:
                        yield _snapshot(raw, Fields(told, "a problem").text("message") or "no answer")
            except Unavailable as error:
                why = error
            patience.wait(why, "Is the dashboard still running?")

    def jobs(self) -> List[Job]:
        """All jobs that the coordinator knows, the newest first."""
        fields = Fields(self._http.get_json("/api/v1/jobs"), "the list of jobs")
        return [Job(self._http, info.id, info) for info in fields.items("jobs", job_info)]

    def job(self, job_id: str) -> Job:
        """The job with this id, running or ended. errors: NotFound."""
        info = job_info(self._http.get_json("/api/v1/jobs/" + quote(job_id, safe="")))
        return Job(self._http, info.id, info)

    def train(self, model: str = "lenet", data: str = "mnist", **keys: Any) -> Job:
        """Begins a training: `cluster.train(model="lenet", data="mnist", epochs=2)`.

        model   a network of the zoo (`mangrove model list`)
        data    a data set, which is read on the nodes
        keys    of docs/jobs.md; `strategy` may also be a name of mangrove.strategies. Lists become texts with commas;
                a key that is None is left out. cluster.keys("train") lists all.

        errors  InvalidArgument: names the key that is wrong; Refused: a viewer may not.
        """
        return self._begin("train", {"model": model, "data": data, **keys})

    def submit(self, job: Union[Mapping[str, Any], "os.PathLike[str]", str]) -> Job:
        """Begins a job from a job file (YAML; needs PyYAML), or from the same as a dictionary.

        Either {"command": "train", "keys": {...}}, or, as in job files, {"data": ..., "train": {...}} with one
        section. Keys of a job file that say where it runs and what it prints (`local`, `run_dir`, ...) are refused.

        errors  InvalidArgument: several sections, or none; a key that is wrong. failed_precondition: no PyYAML.
        """
        wish = dict(job) if isinstance(job, Mapping) else job_from_yaml(os.fspath(job))
        if "command" in wish:
            extra = sorted(set(wish) - {"command", "keys"})
            keys = wish.get("keys", {})
            if extra or not isinstance(keys, Mapping):
                raise InvalidArgument("beside 'command' a job has 'keys', an object, and nothing else"
                                      + (f": found {', '.join(extra)}" if extra else ""))
            return self._begin(str(wish["command"]), keys)
        sections = [name for name in ("train", "eval", "infer") if name in wish]
        if len(sections) != 1 or sections == ["eval"]:
            raise InvalidArgument("a job has one section, 'train' or 'infer': found "
                                  f"{' and '.join(sections) or 'none'}; use `mangrove run` for several")
        section = wish.pop(sections[0]) or {}
        if not isinstance(section, Mapping):
            raise InvalidArgument(f"'{sections[0]}' is no section with keys")
        return self._begin(sections[0], {**wish, **section})

    def keys(self, command: str = "train") -> List[Key]:
        """The keys that a command ("train" or "infer") takes, with their types, ranges and defaults."""
        fields = Fields(self._http.get_json("/api/v1/keys/" + quote(command, safe="")), "the keys of jobs")
        return fields.items("keys", _key)

    def members(self) -> List[Member]:
        """Who belongs to the cluster, and who is invited. errors: Refused (only admins may)."""
        return Fields(self._http.get_json("/api/v1/members"), "the members").items("members", _member)

    def invite(self, role: str = "node", name: str = "", ttl: int = 3600, uses: int = 1) -> str:
        """A join string for `mangrove node --join` (role "node") or `mangrove join` ("viewer", "client", "admin").

        name  that the member gets; "": it chooses one itself
        ttl   seconds until the invitation expires
        uses  how many may join with it

        Who has the string can join: keep it secret. errors: InvalidArgument, Refused (only admins may).
        """
        answer = self._http.post_json("/api/v1/invitations", {"role": role, "name": name, "ttl_s": ttl, "uses": uses})
        return Fields(answer, "the invitation").required_text("join_string")

    def revoke(self, name: str) -> None:
        """Throws a member out, or withdraws an invitation.

        name  of the member, or the `invitation` of a Member that is invited

        errors  NotFound: there is none; Refused: only admins may.
        """
        self._http.post_json(f"/api/v1/members/{quote(name, safe='')}/revoke", {})

    def close(self) -> None:
        """Closes the connections. Jobs go on."""
        self._http.close()

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Cluster({str(self._http.address)!r})"

    def _begin(self, command: str, keys: Mapping[str, Any]) -> Job:
        values = {name: _key_value(name, value) for name, value in without_aliases(keys).items() if value is not None}
        try:
            answer = self._http.post_json("/api/v1/jobs", {"command": command, "keys": values})
        except Unavailable as error:
            if error.status == 0:  # the answer may be what was lost
                raise Unavailable(f"{error}. The job may have begun all the same: cluster.jobs() says so",
                                  error.code) from error
            raise
        return Job(self._http, Fields(answer, "the new job").required_text("id"))


def connect(url: Optional[str] = None, token: Optional[str] = None, ca: Optional[str] = None, *,
            server_name: Optional[str] = None, insecure: bool = False) -> Cluster:
    """Connects to a cluster through the address that `mangrove dashboard` prints.

    url          such as "http://127.0.0.1:7080/#token=..."; None: the environment variable MANGROVE_URL
    token        None: the one in the address, or of MANGROVE_TOKEN where the address is from MANGROVE_URL
    ca           for https: a PEM file with the authority of the cluster; None: the authorities of the system
    server_name  that the certificate must have; None: with `ca` "mangrove", which all certificates of a cluster have,
                 else the host in the address
    insecure     send the token over plain http to another machine, where others can read it

    errors  Unavailable: nobody answers; Refused: the token is wrong; InvalidArgument: no address.
    """
    http = HttpClient(dashboard_address(url, token), ca=ca, server_name=server_name, insecure=insecure,
                      limits=Limits(), advice=ADVICE)
    cluster = Cluster(http)
    try:
        cluster.session()
    except Error:
        cluster.close()
        raise
    return cluster
