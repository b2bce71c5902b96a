"""The result of a job, and the reports on the way to it, read from what the server sends."""
from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Optional

import numpy as np
import numpy.typing as npt

from ._fields import Fields, malformed
from .reports import Epoch, Event, NodesUse, NodeUse, Progress, Report, event_of, node_use


class Result(Report, Mapping[str, Any]):
    """What a job leaves: a mapping with the keys of docs/json.md, which are attributes, too: `result.images_per_s`.

    Shares are between 0 and 1, times in seconds, sizes in bytes. The attributes below have types of their own; with
    `result["nodes"]` and so on you get what was sent.
    """

    def __init__(self, raw: Dict[str, Any]) -> None:
        super().__init__("result", raw)

    @property
    def _fields(self) -> Fields:
        return Fields(self.raw, "the result of a job")

    @property
    def accuracy(self) -> Optional[float]:
        """Share of the test split that is answered rightly; None: the job has measured none."""
        return self._fields.optional_number("accuracy")

    @property
    def loss(self) -> Optional[float]:
        """Mean over the last epoch, while it was being trained; None for jobs that train nothing."""
        return self._fields.optional_number("loss")

    @property
    def confusion(self) -> npt.NDArray[np.int64]:
        """Counts, [classes, classes]: row: true class, column: predicted class; [0, 0] where the job has none."""
        rows = self.raw.get("confusion") or [[]]
        try:
            counts = np.array(rows, dtype=np.int64)
        except (ValueError, TypeError, OverflowError):
            raise malformed("the result of a job", "'confusion' is no matrix of counts") from None
        return counts if counts.size else np.zeros((0, 0), dtype=np.int64)

    @property
    def classes(self) -> List[str]:
        """The names of the classes, in the order of `confusion`."""
        return self._fields.texts("classes")

    @property
    def nodes(self) -> List[NodeUse]:
        """What each node has used."""
        return self._fields.items("nodes", node_use)

    @property
    def events(self) -> List[Event]:
        """What a person wants to know of, in order."""
        return self._fields.items("events", event_of)

    @property
    def epochs_told(self) -> List[Epoch]:
        """What was told of each epoch of a training; [] where the coordinator has not kept it."""
        return self._fields.items("curve", lambda raw: _epoch(Fields(raw, "an epoch of a result")))

    def __getattr__(self, name: str) -> Any:
        raw = self.__dict__.get("raw", {})  # a copy that is being made has none yet
        if name in raw:
            return raw[name]
        raise AttributeError(f"the result has no '{name}'; it has {', '.join(sorted(raw))}")

    def __getitem__(self, key: str) -> Any:
        return self.raw[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.raw)

    def __len__(self) -> int:
        return len(self.raw)

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *self.raw})

    def __repr__(self) -> str:
        shown = {key: value for key, value in self.raw.items()
                 if not isinstance(value, (list, dict, str)) or (isinstance(value, str) and len(value) <= 60)}
        return f"Result({', '.join(f'{key}={value!r}' for key, value in shown.items())})"


def _progress(fields: Fields) -> Progress:
    return Progress("progress", fields.raw, fields.text("phase"), fields.whole("done"), fields.whole("total"),
                    fields.number("images_per_s"), fields.optional_number("eta_s"), fields.whole("epoch"),
                    fields.whole("epochs"), fields.whole("step"), fields.whole("steps"),
                    fields.optional_number("loss"), fields.optional_number("accuracy"),
                    fields.optional_number("learning_rate"))


def _epoch(fields: Fields) -> Epoch:
    return Epoch("epoch", fields.raw, fields.whole("epoch"), fields.optional_number("loss"),
                 fields.optional_number("accuracy"), fields.optional_number("validation_loss"),
                 fields.optional_number("validation_accuracy"), fields.optional_number("learning_rate"),
                 fields.optional_number("train_seconds"), fields.text("phase"))


def report_of(kind: str, raw: Dict[str, Any]) -> Report:
    """The report of this kind with these keys. errors: data_loss (a key has another type)."""
    fields = Fields(raw, f"a report of a job ({kind})")
    if kind == "progress":
        return _progress(fields)
    if kind == "event":
        return event_of(raw)
    if kind == "epoch":
        return _epoch(fields)
    if kind == "nodes":
        return NodesUse(kind, raw, tuple(fields.items("nodes", node_use)))
    if kind == "result":
        return Result(raw)
    return Report(kind, raw)
