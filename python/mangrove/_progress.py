"""What a person sees while a job runs."""
from __future__ import annotations

import sys
from typing import TextIO

from .reports import Epoch, Event, Progress, Report


def progress_line(report: Progress) -> str:
    """One line for people: "train: epoch 1 of 2, 320 of 2,000, loss 2.192, accuracy 20.5 %, 20,321 images/s"."""
    parts = [f"epoch {report.epoch} of {report.epochs}"] if report.epochs else []
    parts.append(f"{report.done:,} of {report.total:,}")
    if report.loss is not None:
        parts.append(f"loss {report.loss:.3f}")
    if report.accuracy is not None:
        parts.append(f"accuracy {100 * report.accuracy:.1f} %")
    if report.images_per_s:
        parts.append(f"{report.images_per_s:,.0f} images/s")
    return f"{report.phase or 'job'}: " + ", ".join(parts)


def epoch_line(report: Epoch) -> str:
    """The same of an epoch that has ended."""
    parts = [f"epoch {report.epoch}"]
    for name, value in (("loss", report.loss), ("validation loss", report.validation_loss)):
        if value is not None:
            parts.append(f"{name} {value:.3f}")
    for name, value in (("accuracy", report.accuracy), ("validation accuracy", report.validation_accuracy)):
        if value is not None:
            parts.append(f"{name} {100 * value:.2f} %")
    return ", ".join(parts)


class ProgressPrinter:
    """Prints what a job tells to standard error: a line that moves on a terminal, lines for epochs and events."""

    def __init__(self) -> None:
        self._out: TextIO = sys.stderr
        self._moves = self._out.isatty()
        self._width = 0  # of the line that moves

    def show(self, report: Report) -> None:
        if isinstance(report, Progress) and self._moves:
            self._move(progress_line(report))
        elif isinstance(report, Epoch):
            self.say(epoch_line(report))
        elif isinstance(report, Event) and report.sentence:
            self.say(("warning: " if report.warning else "") + report.sentence)

    def say(self, line: str) -> None:
        self.end()
        print(line, file=self._out, flush=True)

    def end(self) -> None:
        """Takes the line that moves away."""
        if self._width:
            print("\r" + " " * self._width + "\r", end="", file=self._out, flush=True)
        self._width = 0

    def _move(self, line: str) -> None:
        print("\r" + line.ljust(self._width), end="", file=self._out, flush=True)
        self._width = max(self._width, len(line))
