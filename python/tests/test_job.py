"""Job: what it tells, also over broken streams; its end, its curve, its network."""
from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any, List
from unittest import mock

import numpy as np

import mangrove
from mangrove._events import EventParser

from .fake_cluster import FakeClusterTest, job_row
from .fake_server import Reply, event, problem, reply_json, stream

PROGRESS = {"phase": "train", "done": 320, "total": 2000, "images_per_s": 20321.2, "eta_s": 0.1, "epoch": 1, "epochs": 2,
            "step": 5, "steps": 64, "loss": 2.1916, "accuracy": 0.2055, "learning_rate": 0.04}
EVENT = {"event": "node_lost", "sentence": "node-2 is lost", "warning": True, "time_s": 1.5, "node": "node-2"}
QUIET = {"event": "memory_plan", "sentence": "", "warning": False, "node": "node-1", "micro_batch": 64}
NODES = {"nodes": [{"name": "node-1", "state": "alive", "cpu_percent": 64.1, "rss_bytes": 1, "sent_bytes": 2,
                    "received_bytes": 3}], "samples": []}
RESULT = {"accuracy": 0.75, "loss": 0.5, "confusion": [[3, 1], [0, 4]], "classes": ["zero", "one"],
          "nodes": NODES["nodes"], "events": [EVENT], "images_per_s": 4841.0, "model": "lenet"}
STREAM = "/api/v1/jobs/job-1/stream"


def epoch(number: int, **more: Any) -> Any:
    return {"epoch": number, "loss": 2.0 / number, "accuracy": 0.25 * number, "learning_rate": 0.04,
            "train_seconds": 0.1, **more}


def end(state: str = "done", message: str = "") -> bytes:
    return event("end", {"state": state, "message": message})


WHOLE = (event("event", QUIET), event("progress", PROGRESS), event("epoch", epoch(1)), event("nodes", NODES),
         event("event", EVENT), event("line", {"kind": "stage_load", "at_s": 1}),
         event("epoch", epoch(2, validation_loss=0.9, validation_accuracy=0.6)), event("result", RESULT), end())


class Streams(unittest.TestCase):
    def parsed(self, *pieces: bytes) -> List[Any]:
        parser = EventParser(1000)
        return [(one.name, one.data) for piece in pieces for one in parser.feed(piece)]

    def test_lines_and_fields(self) -> None:
        self.assertEqual(self.parsed(b"event: a\ndata: 1\ndata:2\n\n", b": life\n\n", b"data\r\n\r\n", b"event: b\n\n"),
                         [("a", b"1\n2"), ("message", b"")])

    def test_every_way_to_cut_it(self) -> None:
        whole = "event: ä\ndata: {\"a\": \"é\"}\n\nevent: b\ndata: 1\n\n".encode()
        expected = self.parsed(whole)
        self.assertEqual(len(expected), 2)
        for at in range(len(whole)):
            self.assertEqual(self.parsed(whole[:at], whole[at:]), expected, at)
        self.assertEqual(self.parsed(*(bytes([one]) for one in whole)), expected)

    def test_event_that_is_cut_off_is_left_out(self) -> None:
        self.assertEqual(self.parsed(b"data: 1\n\ndata: 2\n"), [("message", b"1")])

    def test_length_is_bounded(self) -> None:
        for piece in (b"data: " + b"x" * 2000, b"data: 0123456789\n" * 100, b"x" * 2000 + b"\n"):
            with self.subTest(piece=piece[:20]), self.assertRaisesRegex(mangrove.Error, "more than 1000 bytes"):
                for _ in range(3):
                    self.parsed(piece, b"data: " + b"y" * 1001)


class JobTest(FakeClusterTest):
    """A test with a job whose stream it chooses."""

    def job(self, *answers: Any) -> mangrove.Job:
        self.server.on("GET " + STREAM, *answers)
        return self.cluster.job("job-1")


class Reports(JobTest):
    def test_types(self) -> None:
        reports = list(self.job(stream(*WHOLE)).reports())
        self.assertEqual([type(one) for one in reports], [
            mangrove.Event, mangrove.Progress, mangrove.Epoch, mangrove.NodesUse, mangrove.Event, mangrove.Report,
            mangrove.Epoch, mangrove.Result])
        progress, use, result = reports[1], reports[3], reports[7]
        self.assertIsInstance(progress, mangrove.Progress)
        self.assertEqual((progress.done, progress.total, progress.loss), (320, 2000, 2.1916))
        self.assertEqual(use.nodes[0], mangrove.NodeUse("node-1", "alive", 64.1, 1, 2, 3))
        self.assertEqual(reports[5].raw["kind"], "stage_load")
        self.assertEqual(result.accuracy, 0.75)

    def test_nothing_is_told_twice_over_any_break(self) -> None:
        """The stream is cut behind every number of events, and within each; then it begins anew, as the server does."""
        expected = [one.raw for one in self.job(stream(*WHOLE)).reports()]
        for k in range(len(WHOLE)):
            for part in (b"", WHOLE[k][:len(WHOLE[k]) // 2]):
                job = self.job(stream(*WHOLE[:k], part), stream(*WHOLE))
                self.assertEqual([one.raw for one in job.reports()], expected, (k, part))

    def test_equal_reports_are_all_told(self) -> None:
        twice = (event("event", EVENT), event("event", EVENT))
        job = self.job(stream(*twice), stream(*twice, event("event", EVENT), event("result", RESULT), end()))
        self.assertEqual([one.kind for one in job.reports()], ["event", "event", "event", "result"])

    def test_older_progress_is_not_kept_by_the_server(self) -> None:
        later = event("progress", {**PROGRESS, "done": 640})
        job = self.job(stream(event("progress", PROGRESS), event("epoch", epoch(1))),
                       stream(event("epoch", epoch(1)), later, event("result", RESULT), end()))
        self.assertEqual([one.raw.get("done") for one in job.reports()][:3], [320, None, 640])

    def test_lost_coordinator_is_waited_for(self) -> None:
        job = self.job(stream(event("event", EVENT), end("lost", "the coordinator is lost")),
                       problem(503, "unavailable", "away"), stream(*WHOLE))
        self.assertEqual(len(list(job.reports())), 8)
        self.assertEqual(len(self.server.calls(STREAM)), 3)

    def test_server_that_does_not_come_back(self) -> None:
        job = self.job(stream(event("event", EVENT)), stream())
        with self.assertRaisesRegex(mangrove.Unavailable, r"job-1 goes on without you; follow it again with "
                                                          r"cluster.job\('job-1'\).wait\(\)"):
            list(job.reports())

    def test_silent_stream_is_made_anew(self) -> None:
        over = threading.Event()
        self.addCleanup(over.set)
        self.cluster._http.limits = mangrove._http.Limits(silence_s=0.2, first_pause_s=0.01)
        job = self.job(stream(WHOLE[0], hold=over), stream(*WHOLE))
        self.assertEqual(len(list(job.reports())), 8)

    def test_slow_stream(self) -> None:
        data = b"".join(WHOLE)
        job = self.job(stream(*(data[at:at + 7] for at in range(0, len(data), 7))))
        self.assertEqual(len(list(job.reports())), 8)

    def test_what_cannot_be_read_is_no_reason_to_try_again(self) -> None:
        for piece in (b"event: epoch\ndata: {\"epoch\": 1\n\n", event("epoch", {"epoch": "one"}), event("epoch", [1]),
                      event("end", {"message": "no state"})):
            self.server.requests.clear()
            job = self.job(stream(piece))
            with self.subTest(piece=piece), self.assertRaises(mangrove.Error) as caught:
                list(job.reports())
            self.assertEqual((caught.exception.code, len(self.server.calls(STREAM))), ("data_loss", 1))

    def test_unknown_job(self) -> None:
        job = self.job(problem(404, "not_found", "no such job"))
        with self.assertRaises(mangrove.NotFound):
            list(job.reports())


class Waiting(JobTest):
    def waited(self, *answers: Any, progress: bool = True) -> Any:
        """The result, and what was printed."""
        printed = io.StringIO()
        with contextlib.redirect_stderr(printed):
            result = self.job(*answers).wait(progress=progress)
        return result, printed.getvalue()

    def test_result(self) -> None:
        result, printed = self.waited(stream(*WHOLE))
        self.assertEqual((result.accuracy, result["loss"], result.images_per_s), (0.75, 0.5, 4841.0))
        np.testing.assert_array_equal(result.confusion, [[3, 1], [0, 4]])
        self.assertEqual(result.classes, ["zero", "one"])
        self.assertEqual(result.nodes[0].cpu_percent, 64.1)
        self.assertEqual(result.events[0].sentence, "node-2 is lost")
        self.assertEqual(set(result), set(RESULT))
        self.assertEqual(dict(result), RESULT)
        with self.assertRaisesRegex(AttributeError, "the result has no 'acuracy'; it has accuracy, "):
            result.acuracy
        self.assertEqual(printed, "epoch 1, loss 2.000, accuracy 25.00 %\nwarning: node-2 is lost\nepoch 2, loss 1.000, "
                                  "validation loss 0.900, accuracy 50.00 %, validation accuracy 60.00 %\n")

    def test_quiet(self) -> None:
        self.assertEqual(self.waited(stream(*WHOLE), progress=False)[1], "")

    def test_on_a_terminal_a_line_moves(self) -> None:
        class Terminal(io.StringIO):
            def isatty(self) -> bool:
                return True

        with contextlib.redirect_stderr(Terminal()) as printed:
            self.job(stream(*WHOLE)).wait()
        line = "train: epoch 1 of 2, 320 of 2,000, loss 2.192, accuracy 20.5 %, 20,321 images/s"
        self.assertTrue(printed.getvalue().startswith(f"\r{line}\r{' ' * len(line)}\repoch 1, loss"), printed.getvalue())

    def test_hostile_sentence(self) -> None:
        evil = {**EVENT, "sentence": "gone\x1b[2J\x07"}
        _, printed = self.waited(stream(event("event", evil), event("result", RESULT), end()))
        self.assertEqual(printed, "warning: gone\\x1b[2J\\x07\n")

    def test_failure(self) -> None:
        with self.assertRaisesRegex(mangrove.JobFailed, r"job-1 has failed: no such data set 'x'; job.events\(\)") as caught:
            self.waited(stream(end("failed", "no such data set 'x'")))
        self.assertEqual((caught.exception.state, caught.exception.code), ("failed", "job_failed"))

    def test_stopped(self) -> None:
        with self.assertRaisesRegex(mangrove.JobFailed, "was stopped") as caught:
            self.waited(stream(end("stopped")))
        self.assertEqual(caught.exception.state, "stopped")

    def test_done_without_a_result(self) -> None:
        with self.assertRaisesRegex(mangrove.Error, "has sent no result"):
            self.waited(stream(end()))

    def test_waiting_twice_asks_once(self) -> None:
        job = self.job(stream(*WHOLE))
        self.assertEqual(job.wait(progress=False), job.wait(progress=False))
        self.assertEqual(len(self.server.calls(STREAM)), 1)

    def test_interrupt_leaves_the_job_alone(self) -> None:
        job, printed = self.job(stream(*WHOLE)), io.StringIO()
        with mock.patch("mangrove.job.report_of", side_effect=KeyboardInterrupt), contextlib.redirect_stderr(printed):
            with self.assertRaises(KeyboardInterrupt):
                job.wait()
        self.assertIn("job-1 goes on without you; follow it again with cluster.job('job-1').wait()", printed.getvalue())
        self.assertEqual([one.path for one in self.server.requests if one.method == "POST"], [])


class Courses(JobTest):
    def test_curve_and_history(self) -> None:
        job = self.job(stream(*WHOLE))
        job.wait(progress=False)
        curve = job.curve()
        np.testing.assert_array_equal(curve.epoch, [1, 2])
        np.testing.assert_array_equal(curve.loss, [2.0, 1.0])
        np.testing.assert_array_equal(curve.validation_loss, [np.nan, 0.9])
        self.assertEqual(len(curve), 2)
        history = job.history
        self.assertEqual((history.epoch, history.history["loss"], history.history["accuracy"]),
                         ([0, 1], [2.0, 1.0], [0.25, 0.5]))
        self.assertEqual(history.history["val_accuracy"][1], 0.6)

    def test_of_a_job_that_has_ended_all_epochs_are_fetched(self) -> None:
        self.server.on("GET /api/v1/jobs/job-1", job_row("done"))
        self.assertEqual(len(self.job(stream(*WHOLE)).curve()), 2)

    def test_where_only_the_result_is_left_its_epochs_are_taken(self) -> None:
        self.server.on("GET /api/v1/jobs/job-1", job_row("done"))
        job = self.job(stream(event("epoch", epoch(2, loss=0.125)),
                              event("result", {**RESULT, "curve": [epoch(1), epoch(2), epoch(3)]}), end()))
        np.testing.assert_array_equal(job.curve().epoch, [1, 2, 3])
        np.testing.assert_array_equal(job.curve().loss, [2.0, 0.125, 2 / 3])

    def test_of_a_job_that_runs_those_that_were_told(self) -> None:
        job = self.job(stream(*WHOLE))
        self.assertEqual(job.history.history, {})
        reports = job.reports()
        for report in reports:
            if isinstance(report, mangrove.Epoch):
                break
        self.assertEqual(job.history.history["loss"], [2.0])
        reports.close()

    def test_plot(self) -> None:
        self.server.on("GET /api/v1/jobs/job-1", job_row("done"))
        job = self.job(stream(*WHOLE))
        with mock.patch.dict("sys.modules", {"matplotlib": None}):
            with self.assertRaisesRegex(mangrove.Error, "needs matplotlib"):
                job.plot()
        axes = mock.MagicMock()
        self.assertIs(job.plot(axes), axes)
        axes.set_title.assert_called_once_with("job-1")


class Files(FakeClusterTest):
    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name, "model.onnx")

    def test_model(self) -> None:
        network = os.urandom(3_000_000)
        self.server.on("GET /api/v1/jobs/job-1/model", Reply(body=network, content_type="application/octet-stream"))
        self.assertEqual(self.cluster.job("job-1").model(self.path), str(self.path))
        self.assertEqual(self.path.read_bytes(), network)

    def test_a_part_of_a_model_leaves_no_file(self) -> None:
        self.path.write_bytes(b"old")
        for reply, pattern in ((Reply(body=b"x" * 1000, length=2000), "ends after 1000 of 2000 bytes"),
                               (Reply(body=b"x", length=1 << 40), "more than 2147483648 bytes"),
                               (problem(409, "failed_precondition", "has not ended"), "has not ended"),
                               (problem(404, "not_found", "no model"), "no model")):
            self.server.on("GET /api/v1/jobs/job-1/model", reply)
            with self.subTest(pattern=pattern), self.assertRaisesRegex(mangrove.Error, pattern):
                self.cluster.job("job-1").model(self.path)
            self.assertEqual(self.path.read_bytes(), b"old")
            self.assertEqual(os.listdir(self.path.parent), ["model.onnx"])

    def test_stop_and_events(self) -> None:
        self.server.on("POST /api/v1/jobs/job-1/stop", reply_json({"job": "job-1", "message": "stopped at step 3"}))
        self.server.on("GET /api/v1/jobs/job-1/events", {"job": "job-1", "events": [EVENT, QUIET]})
        job = self.cluster.job("job-1")
        self.assertEqual(job.stop(), "stopped at step 3")
        self.assertEqual([one.event for one in job.events()], ["node_lost", "memory_plan"])
        self.assertEqual(json.loads(json.dumps(job.events()[0].raw)), EVENT)

    def test_state_is_asked_for_until_the_job_has_ended(self) -> None:
        self.server.on("GET /api/v1/jobs/job-1", job_row("running"), job_row("running"), job_row("done"))
        job = self.cluster.job("job-1")
        self.assertEqual([job.state for _ in range(4)], ["running", "done", "done", "done"])
        self.assertEqual(len(self.server.calls("/api/v1/jobs/job-1")), 3)


if __name__ == "__main__":
    unittest.main()
