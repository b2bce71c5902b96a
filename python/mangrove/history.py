"""The course of a training: as numpy arrays, as Keras has it, and as a drawing."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence

import numpy as np
import numpy.typing as npt

from .errors import Error
from .reports import Epoch

Column = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """One value for each epoch, arrays of shape [epochs]; NaN where nothing was measured. Accuracies are shares."""

    epoch: npt.NDArray[np.int64]
    loss: Column
    accuracy: Column
    validation_loss: Column
    validation_accuracy: Column
    learning_rate: Column
    train_seconds: Column

    def __len__(self) -> int:
        return len(self.epoch)


class History:
    """As `fit` of Keras gives it back.

    epoch    the epochs, from 0
    history  lists with a value for each epoch: loss, accuracy, and where it was measured val_loss, val_accuracy, lr
    """

    def __init__(self, epochs: Sequence[Epoch]) -> None:
        self.epoch: List[int] = [one.epoch - 1 for one in epochs]
        columns: Dict[str, List[Optional[float]]] = {
            "loss": [one.loss for one in epochs], "accuracy": [one.accuracy for one in epochs],
            "val_loss": [one.validation_loss for one in epochs],
            "val_accuracy": [one.validation_accuracy for one in epochs],
            "lr": [one.learning_rate for one in epochs]}
        self.history: Dict[str, List[float]] = {
            name: [math.nan if value is None else value for value in values] for name, values in columns.items()
            if any(value is not None for value in values)}

    def __repr__(self) -> str:
        return f"History({len(self.epoch)} epochs: {', '.join(self.history)})"


def _column(values: Sequence[Optional[float]]) -> Column:
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)


def curve_of(epochs: Sequence[Epoch]) -> Curve:
    """The columns of these epochs."""
    return Curve(np.array([one.epoch for one in epochs], dtype=np.int64), _column([one.loss for one in epochs]),
                 _column([one.accuracy for one in epochs]), _column([one.validation_loss for one in epochs]),
                 _column([one.validation_accuracy for one in epochs]), _column([one.learning_rate for one in epochs]),
                 _column([one.train_seconds for one in epochs]))


def plot_curve(curve: Curve, title: str, axes: Any = None) -> Any:
    """Draws loss and accuracy over the epochs. axes: of matplotlib; None: new ones. Gives back the axes of the loss.

    errors  Error (failed_precondition): matplotlib is not installed.
    """
    if axes is None:
        try:
            from matplotlib import pyplot
        except ImportError:
            raise Error("plot() needs matplotlib: install python3-matplotlib, or `pip install matplotlib`",
                        code="failed_precondition") from None
        axes = pyplot.figure().subplots()
    axes.plot(curve.epoch, curve.loss, "o-", color="C0", label="loss")
    if not np.isnan(curve.validation_loss).all():
        axes.plot(curve.epoch, curve.validation_loss, "o--", color="C0", label="validation loss")
    right = axes.twinx()
    right.plot(curve.epoch, 100 * curve.accuracy, "s-", color="C1", label="accuracy")
    if not np.isnan(curve.validation_accuracy).all():
        right.plot(curve.epoch, 100 * curve.validation_accuracy, "s--", color="C1", label="validation accuracy")
    axes.set_xticks(curve.epoch if len(curve) <= 20 else curve.epoch[::len(curve) // 10])
    axes.set_xlabel("epoch")
    axes.set_ylabel("loss")
    right.set_ylabel("accuracy, %")
    axes.set_title(title)
    lines = axes.get_lines() + right.get_lines()
    axes.legend(lines, [line.get_label() for line in lines], loc="center right")
    return axes
