"""The real program, end to end, where MANGROVE_PROGRAM names it. With that variable nothing here is skipped."""
from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import mangrove
from mangrove.local import _COORDINATOR_READY, _DASHBOARD_READY, _SERVICE_READY, _Processes

PROGRAM = os.environ.get("MANGROVE_PROGRAM", "")


class Served:
    """`mangrove serve` with these flags, from its start to its end."""

    def __init__(self, *arguments: str) -> None:
        self._processes = _Processes(PROGRAM)
        output = self._processes.start("serve", ["serve", *arguments, "--listen", "127.0.0.1:0", "--grpc", "127.0.0.1:0"])
        try:
            self.url = self._processes.wait_for("serve", output, _SERVICE_READY)
        except mangrove.Error:
            self.stop()
            raise

    def stop(self) -> None:
        self._processes.stop()


def mangrove_run(*arguments: str, folder: Path) -> str:
    done = subprocess.run([PROGRAM, *arguments], cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"mangrove {' '.join(arguments)} ended with {done.returncode}: {done.stderr}")
    return done.stdout


@unittest.skipUnless(PROGRAM, "MANGROVE_PROGRAM does not name the program")
class ServiceOfTheProgram(unittest.TestCase):
    folder: Path
    served: Served

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        mangrove_run("train", "--model", "lenet", "--data", "glyphs", "--limit", "2000", "--epochs", "2", "--local", "1",
                     "--run-dir", "run", folder=cls.folder)
        mangrove_run("data", "make", "images", "--data", "glyphs", "--to", "digits", "--limit", "40", folder=cls.folder)
        cls.model = str(cls.folder / "run" / "model.onnx")
        cls.served = Served("digits", "--model", cls.model)
        cls.addClassCleanup(cls.served.stop)

    def service(self, *arguments: Any, **named: Any) -> mangrove.Service:
        service = mangrove.Service(*(arguments or (self.served.url,)), **named)
        self.addCleanup(service.close)
        return service

    def test_what_it_says_of_itself(self) -> None:
        service = self.service()
        service.wait_ready()
        self.assertTrue(service.ready())
        metadata = service.metadata()
        self.assertEqual(metadata.inputs, (mangrove.TensorInfo("input", "FP32", (-1, 1, 28, 28)),))
        self.assertEqual(metadata.outputs, (mangrove.TensorInfo("logits", "FP32", (-1, 10)),))
        self.assertEqual([(one.name, one.state) for one in service.models()], [("digits", "READY")])

    def test_infer_gives_what_predict_gives(self) -> None:
        batch = np.random.default_rng(3).random((5, 1, 28, 28), dtype=np.float32)
        np.save(self.folder / "x.npy", batch)
        mangrove_run("predict", self.model, "--input", "x.npy", "--output", "y.npy", folder=self.folder)
        logits = self.service(self.served.url, "digits").infer(batch)
        np.testing.assert_allclose(logits, np.load(self.folder / "y.npy"), rtol=1e-4, atol=1e-5)
        by_name = self.service().infer({"input": batch})
        np.testing.assert_array_equal(by_name["logits"], logits)

    def test_classify(self) -> None:
        service, images = self.service(), sorted((self.folder / "digits" / "test").glob("*/*.png"))
        answers = [service.classify(image, k=3) for image in images]
        self.assertGreater(len(images), 10)
        right = sum(one[0].label == image.parent.name for one, image in zip(answers, images))
        self.assertGreater(right / len(images), 0.5)  # by chance a tenth
        for one in answers:
            self.assertEqual(len(one), 3)
            self.assertEqual([answer.probability for answer in one],
                             sorted((answer.probability for answer in one), reverse=True))
        self.assertEqual(service.classify(images[0].read_bytes(), k=3), answers[0])

    def test_array_as_image(self) -> None:
        from_array = self.service().classify(np.zeros((28, 28), np.uint8))
        self.assertEqual(len(from_array), 5)

    def test_errors_say_what_is_wrong(self) -> None:
        with self.assertRaisesRegex(mangrove.NotFound, "other"):
            self.service(self.served.url, "other").infer(np.zeros((1, 1, 28, 28)))
        with self.assertRaisesRegex(mangrove.InvalidArgument, r"shape \[28, 28\]"):
            self.service().infer(np.zeros((28, 28)))
        with self.assertRaises(mangrove.InvalidArgument) as caught:
            self.service().classify(b"this is no image")
        self.assertEqual(caught.exception.status, 400)

    def test_body_that_is_too_long_for_the_server(self) -> None:
        small = Served("digits", "--model", self.model, "--max-request", "64KiB")
        self.addCleanup(small.stop)
        with self.assertRaises(mangrove.Error) as caught:
            self.service(small.url).classify(bytes(8 << 20))
        self.assertEqual((caught.exception.status, caught.exception.code), (413, "resource_exhausted"))

    def test_full_queue_is_waited_for(self) -> None:
        busy = Served("digits", "--model", self.model, "--max-queue", "1", "--max-batch", "8", "--max-wait", "300ms")
        self.addCleanup(busy.stop)
        service = self.service(busy.url)
        batches = [np.full((1, 1, 28, 28), i / 4, dtype=np.float32) for i in range(4)]
        expected = [self.service().infer(batch) for batch in batches]
        with ThreadPoolExecutor(len(batches)) as pool:
            answers = list(pool.map(service.infer, batches))
        for answer, wanted in zip(answers, expected):
            np.testing.assert_allclose(answer, wanted, rtol=1e-4, atol=1e-5)
        with urllib.request.urlopen(busy.url + "/v2/models/digits/stats", timeout=10) as stats:
            counts = json.load(stats)["model_stats"][0]["inference_stats"]
        self.assertEqual(counts["success"]["count"], len(batches))
        self.assertGreater(counts["fail"]["count"], 0, "the queue was never full")

    def test_certificates_and_tokens(self) -> None:
        coordinator = _Processes(PROGRAM)
        self.addCleanup(coordinator.stop)
        home = Path(coordinator.folder)
        output = coordinator.start("coordinator", ["coordinator", "--listen", "127.0.0.1:0", "--no-announce", "--state",
                                                   str(home / "state")])
        coordinator.wait_for("coordinator", output, _COORDINATOR_READY)
        tokens = self.folder / "tokens"
        tokens.touch(0o600)
        tokens.write_text("user f00dfeedf00dfeedf00dfeedf00dfeed\n")
        identity, ca = str(home / "state/identity/coordinator.pem"), str(home / "state/identity/authority.pem")
        served = Served("digits", "--model", self.model, "--identity", identity, "--token-file", str(tokens))
        self.addCleanup(served.stop)
        self.assertTrue(served.url.startswith("https://"))
        token = "f00dfeedf00dfeedf00dfeedf00dfeed"
        self.assertEqual(self.service(served.url, ca=ca, token=token).infer(np.zeros((1, 1, 28, 28))).shape, (1, 10))
        with self.assertRaisesRegex(mangrove.Refused, "--token-file"):
            self.service(served.url, ca=ca).infer(np.zeros((1, 1, 28, 28)))
        with self.assertRaisesRegex(mangrove.Refused, "certificate is not accepted.*ca=FILE"):
            self.service(served.url, token=token).ready()
        with self.assertRaisesRegex(mangrove.Refused, "certificate is not accepted"):
            self.service(served.url, token=token, ca=ca, server_name="other").ready()


@unittest.skipUnless(PROGRAM, "MANGROVE_PROGRAM does not name the program")
class ClusterOfTheProgram(unittest.TestCase):
    """Five nodes, a coordinator and a dashboard on this machine, with certificates."""

    NODES = {f"node-{i}" for i in range(1, 6)}  # as many as the alias Krum needs
    SMALL = {"model": "lenet", "data": "glyphs", "limit": 1000}

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.cluster = mangrove.local_cluster(nodes=len(cls.NODES), program=PROGRAM)
        cls.addClassCleanup(cls.cluster.close)

    def test_nodes_and_session(self) -> None:
        self.assertEqual({node.name for node in self.cluster.nodes()}, self.NODES)
        session = self.cluster.session()
        self.assertEqual((session.coordinator, session.role), (self.cluster.coordinator, "admin"))

    def test_training_from_its_beginning_to_its_network(self) -> None:
        job = self.cluster.train(**self.SMALL, epochs=2, strategy="FedAvg")
        kinds = {type(report) for report in job.reports()}
        self.assertLessEqual({mangrove.Event, mangrove.Epoch, mangrove.Progress, mangrove.Result}, kinds)
        result = job.wait()
        self.assertEqual((job.state, result.epochs, result.workers), ("done", 2, 5))
        self.assertEqual(result.confusion.shape, (10, 10))
        self.assertAlmostEqual(np.trace(result.confusion) / result.confusion.sum(), result.accuracy)
        self.assertEqual({node.name for node in result.nodes}, self.NODES)
        curve = job.curve()
        np.testing.assert_array_equal(curve.epoch, [1, 2])
        self.assertEqual(job.history.history["loss"], list(curve.loss))
        self.assertEqual([one.event for one in job.events()], [one.event for one in result.events])
        self.check_network(job, result)

    def check_network(self, job: mangrove.Job, result: mangrove.Result) -> None:
        """The file is the network that the job has measured."""
        job.model(self.folder / "lenet.onnx")
        measured = json.loads(mangrove_run("infer", "--model", "lenet.onnx", "--data", "glyphs", "--limit", "1000",
                                           "--strategy", "single", "--local", "1", "--json", folder=self.folder))
        self.assertEqual(measured["images"], 1000)
        self.assertAlmostEqual(measured["accuracy"], result.accuracy, delta=0.002)  # kernels may round otherwise

    def test_a_job_that_has_ended_can_be_looked_at_later(self) -> None:
        first = self.cluster.train(**self.SMALL)
        first.wait(progress=False)
        with mangrove.connect(self.cluster.url) as other:
            job = other.job(first.id)
            self.assertEqual(len(job.curve()), 1)
            self.assertEqual(job.wait(progress=False), first.wait())
            self.assertIn(first.id, [one.id for one in other.jobs()])

    def test_watching_stopping_and_following(self) -> None:
        job = self.cluster.train(**self.SMALL, epochs=10_000)
        for state in self.cluster.watch():
            if any(node.steps["count"] for node in state.nodes):
                break
        self.assertEqual([(one.id, one.state) for one in state.jobs], [(job.id, "running")])
        with self.assertRaisesRegex(mangrove.Error, "has not ended") as caught:
            job.model(self.folder / "none.onnx")
        self.assertEqual(caught.exception.status, 409)
        job.stop()
        self.assertEqual(job.state, "stopped")
        with self.assertRaises(mangrove.JobFailed) as failed:
            job.wait(progress=False)
        self.assertEqual(failed.exception.state, "stopped")

    def test_interrupt_ends_only_the_waiting(self) -> None:
        script = ("import os, sys, mangrove\n"
                  "job = mangrove.connect(os.environ['MANGROVE_URL']).train(model='lenet', data='glyphs', limit=1000,"
                  " epochs=10000)\n"
                  "print(job.id, flush=True)\n"
                  "job.wait()\n")
        waiting = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   cwd=Path(__file__).parent.parent, env={**os.environ, "MANGROVE_URL": self.cluster.url})
        assert waiting.stdout is not None and waiting.stderr is not None
        job = self.cluster.job(waiting.stdout.readline().strip())
        self.addCleanup(job.stop)
        waiting.stderr.readline()  # it follows: an epoch has ended
        waiting.send_signal(signal.SIGINT)
        _, said = waiting.communicate(timeout=30)
        self.assertIn(f"{job.id} goes on without you; follow it again with cluster.job('{job.id}').wait()", said)
        self.assertEqual((waiting.returncode, job.state), (-signal.SIGINT, "running"))

    def test_wrong_keys_and_values(self) -> None:
        for keys, pattern in (({"epoch": 2}, "did you mean 'epochs'"), ({"epochs": -1}, "epochs"),
                              ({"strategy": "fastest"}, "strategy")):
            with self.subTest(keys=keys), self.assertRaisesRegex(mangrove.InvalidArgument, pattern):
                self.cluster.train(**{**self.SMALL, **keys})

    def test_every_alias_is_a_job(self) -> None:
        for name in mangrove.strategies:
            with self.subTest(name=name):
                self.assertEqual(self.cluster.train(**{**self.SMALL, "limit": 200}, strategy=name, epochs=1)
                                 .wait(progress=False).epochs, 1)

    def test_members(self) -> None:
        self.assertTrue(self.cluster.invite(role="viewer", name="eve", ttl=60).startswith("MG"))
        (invited,) = [one for one in self.cluster.members() if one.state == "invited"]
        self.assertEqual((invited.name, invited.role, invited.uses_left), ("eve", "viewer", 1))
        self.cluster.revoke(invited.invitation)
        self.assertEqual([one for one in self.cluster.members() if one.state == "invited"], [])
        with self.assertRaises(mangrove.NotFound):
            self.cluster.revoke("nobody")

    def test_wrong_token(self) -> None:
        for token in ("0" * 32, None):
            with self.assertRaisesRegex(mangrove.Refused, "mangrove dashboard"):
                mangrove.connect(self.cluster.url.split("#")[0], token)

    def test_keys(self) -> None:
        keys = {key.name: key for key in self.cluster.keys("train")}
        self.assertEqual((keys["epochs"].type, keys["epochs"].default), ("whole", "1"))


def free_address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


@unittest.skipUnless(PROGRAM, "MANGROVE_PROGRAM does not name the program")
class AwayAndBack(unittest.TestCase):
    """A dashboard and a coordinator that are killed and started again while a client follows a job."""

    TOKEN = "f00dfeedf00dfeedf00dfeedf00dfeed"

    def setUp(self) -> None:
        self.processes = _Processes(PROGRAM)
        self.addCleanup(self.processes.stop)
        self.coordinator, self.dashboard = free_address(), free_address()
        self.tokens = Path(self.processes.folder, "tokens")
        self.tokens.touch(0o600)
        self.tokens.write_text(f"admin {self.TOKEN}\n")
        self.start_coordinator()
        self.start_dashboard()
        self.processes.start("node-1", ["node", "--coordinator", self.coordinator, "--listen", "127.0.0.1:0", "--name",
                                        "node-1", "--threads", "1"])

    def start_coordinator(self) -> None:
        output = self.processes.start("coordinator", ["coordinator", "--listen", self.coordinator, "--no-announce",
                                                      "--state", self.processes.folder + "/state"])
        self.processes.wait_for("coordinator", output, _COORDINATOR_READY)
        self.coordinator_process = self.processes._running[-1]

    def start_dashboard(self) -> None:
        output = self.processes.start("dashboard", ["dashboard", "--coordinator", self.coordinator, "--listen",
                                                    self.dashboard, "--token-file", str(self.tokens)])
        self.processes.wait_for("dashboard", output, _DASHBOARD_READY)
        self.dashboard_process = self.processes._running[-1]

    def test_a_job_is_followed_on(self) -> None:
        with mangrove.connect(f"http://{self.dashboard}", self.TOKEN) as cluster:
            for state in cluster.watch():
                if state.nodes:
                    break
            job = cluster.train(model="lenet", data="glyphs", limit=1000, epochs=10_000)
            epochs = []
            for report in job.reports():
                if not isinstance(report, mangrove.Epoch):
                    continue
                epochs.append(report.epoch)
                if len(epochs) == 3:
                    self.dashboard_process.kill()
                    self.dashboard_process.wait()
                    self.start_dashboard()
                if len(epochs) == 6:
                    self.coordinator_process.kill()
                    self.coordinator_process.wait()
                    self.start_coordinator()
                if len(epochs) == 10:
                    break
            info = job.info()
            self.assertEqual((info.state, info.starts), ("running", 2), (info, epochs))
            self.assertEqual(epochs[:6], [1, 2, 3, 4, 5, 6], "the dashboard has told them twice, and the client has not")
            last = epochs[-1]
            self.assertGreater(last, 6)
            # the coordinator went on from its last checkpoint: epochs behind that were made, and told, once more
            self.assertEqual(epochs[6:], list(range(epochs[6], last + 1)))
            np.testing.assert_array_equal(job.curve().epoch, np.arange(1, last + 1))
            job.stop()


@unittest.skipUnless(PROGRAM, "MANGROVE_PROGRAM does not name the program")
class OnThisMachine(unittest.TestCase):
    def test_node_that_dies_is_told_and_all_processes_end(self) -> None:
        with mangrove.local_cluster(nodes=2, program=PROGRAM) as cluster:
            processes = cluster._processes._running
            job = cluster.train(model="lenet", data="glyphs", limit=1000, epochs=10_000)
            for report in job.reports():
                if isinstance(report, mangrove.Epoch) and processes[-1].poll() is None:
                    processes[-1].kill()
                    processes[-1].wait()
                if isinstance(report, mangrove.Event) and report.event == "node_lost":
                    break
            self.assertEqual((report.node, report.warning), ("node-2", True))
            folder, pids = cluster._processes.folder, [one.pid for one in processes]
        self.assertFalse(os.path.exists(folder))
        for pid in pids:
            with self.assertRaises(ProcessLookupError):
                os.kill(pid, 0)

    def test_end_of_the_program_ends_the_cluster(self) -> None:
        script = ("import mangrove\n"
                  "cluster = mangrove.local_cluster(nodes=1)\n"
                  "print(*[one.pid for one in cluster._processes._running])\n"
                  "raise SystemExit(3)\n")
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60,
                              cwd=Path(__file__).parent.parent, env={**os.environ, "MANGROVE_PROGRAM": PROGRAM})
        self.assertEqual(done.returncode, 3, done.stderr)
        for pid in done.stdout.split():
            with self.assertRaises(ProcessLookupError):
                os.kill(int(pid), 0)

    def test_local_service_and_its_end(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            mangrove_run("model", "export", "mlp", "--output", "mlp.onnx", folder=Path(folder))
            with mangrove.local_service(Path(folder, "mlp.onnx"), program=PROGRAM) as service:
                self.assertTrue(service.ready())
            with self.assertRaises(mangrove.Unavailable):
                service.ready()
            with self.assertRaisesRegex(mangrove.Error, "`mangrove serve` has ended with status 2: .*none.onnx"):
                mangrove.local_service(Path(folder, "none.onnx"), program=PROGRAM)

    def test_what_is_missing_is_said(self) -> None:
        with self.assertRaisesRegex(mangrove.InvalidArgument, "no program 'no-such-program'.*MANGROVE_PROGRAM"):
            mangrove.local_cluster(program="no-such-program")
        with self.assertRaisesRegex(mangrove.Error, "`mangrove coordinator` has ended with status 1"):
            mangrove.local_cluster(program="false")
        with self.assertRaisesRegex(mangrove.InvalidArgument, "nodes=0"):
            mangrove.local_cluster(nodes=0, program=PROGRAM)


if __name__ == "__main__":
    unittest.main()
