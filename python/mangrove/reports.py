"""What a job tells while it runs. Keys are explained in docs/json.md; `raw` has all of them as they came."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Tuple

from ._fields import Fields


@dataclass(frozen=True)
class Report:
    """One thing that a job has told.

    kind  "progress", "event", "nodes", "epoch", "line", "result", or one that this version does not know
    raw   its keys
    """

    kind: str
    raw: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Progress(Report):
    """How far a job is.

    done, total   samples or images
    eta_s         seconds that are left, as predicted
    loss, accuracy, learning_rate  of training, since the last such report; accuracy is a share; else None
    """

    phase: str
    done: int
    total: int
    images_per_s: float
    eta_s: Optional[float]
    epoch: int
    epochs: int
    step: int
    steps: int
    loss: Optional[float]
    accuracy: Optional[float]
    learning_rate: Optional[float]


@dataclass(frozen=True)
class Event(Report):
    """Something that a person wants to know of.

    event     its name, such as "node_lost"
    sentence  the same for people; "": only that all is as it should be
    warning   a person may have to act upon it
    time_s    seconds since the job began; None where it does not say
    node      that it is about; ""
    """

    event: str
    sentence: str
    warning: bool
    time_s: Optional[float]
    node: str


@dataclass(frozen=True)
class Epoch(Report):
    """The end of an epoch. Accuracies are shares; the validation's are None without a validation split."""

    epoch: int
    loss: Optional[float]
    accuracy: Optional[float]
    validation_loss: Optional[float]
    validation_accuracy: Optional[float]
    learning_rate: Optional[float]
    train_seconds: Optional[float]
    phase: str


@dataclass(frozen=True)
class NodeUse:
    """What one node has used for a job: CPU in percent of one core, memory and messages in bytes."""

    name: str
    state: str
    cpu_percent: float
    rss_bytes: int
    sent_bytes: int
    received_bytes: int


@dataclass(frozen=True)
class NodesUse(Report):
    """What the nodes of a job use. The other keys (`samples`) are in `raw`."""

    nodes: Tuple[NodeUse, ...]


def node_use(raw: Any) -> NodeUse:
    """errors: data_loss."""
    fields = Fields(raw, "what a node has used")
    return NodeUse(fields.required_text("name"), fields.text("state"), fields.number("cpu_percent"),
                   fields.whole("rss_bytes"), fields.whole("sent_bytes"), fields.whole("received_bytes"))


def event_of(raw: Any) -> Event:
    """errors: data_loss."""
    fields = Fields(raw, "an event of a job")
    return Event("event", fields.raw, fields.text("event"), fields.text("sentence"), fields.flag("warning"),
                 fields.optional_number("time_s"), fields.text("node"))
