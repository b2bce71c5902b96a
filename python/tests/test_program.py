"""The real program, end to end, where MANGROVE_PROGRAM names it. With that variable nothing here is skipped."""
from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any, List

import numpy as np

import mangrove

PROGRAM = os.environ.get("MANGROVE_PROGRAM", "")
START_S = 60.0


class Served:
    """`mangrove serve`, from its start to its end."""

    def __init__(self, *arguments: str, folder: Path) -> None:
        self.output = folder / f"serve-{time.monotonic_ns()}.log"
        with open(self.output, "wb") as output:
            self._process = subprocess.Popen(
                [PROGRAM, "serve", *arguments, "--listen", "127.0.0.1:0", "--grpc", "127.0.0.1:0"], stdout=output,
                stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        self.url = self._find_url()

    def _find_url(self) -> str:
        give_up = time.monotonic() + START_S
        while time.monotonic() < give_up:
            found = re.search(r"serving on (https?://\S+)", self.output.read_text())
            if found:
                return found[1]
            if self._process.poll() is not None:
                break
            time.sleep(0.05)
        self.stop()
        raise AssertionError(f"mangrove serve does not serve: {self.output.read_text()}")

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


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
        cls.served = Served("digits", "--model", cls.model, folder=cls.folder)
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
        small = Served("digits", "--model", self.model, "--max-request", "64KiB", folder=self.folder)
        self.addCleanup(small.stop)
        with self.assertRaises(mangrove.Error) as caught:
            self.service(small.url).classify(bytes(8 << 20))
        self.assertEqual((caught.exception.status, caught.exception.code), (413, "resource_exhausted"))

    def test_certificates_and_tokens(self) -> None:
        home = self.folder / "home"
        coordinator = mangrove.local._Processes(PROGRAM, str(home))
        home.mkdir()
        self.addCleanup(coordinator.stop)
        output = coordinator.start("coordinator", ["coordinator", "--listen", "127.0.0.1:0", "--no-announce", "--state",
                                                   str(home / "state")])
        coordinator.wait_for("coordinator", output, mangrove.local._COORDINATOR_READY)
        tokens = self.folder / "tokens"
        tokens.touch(0o600)
        tokens.write_text("user f00dfeedf00dfeedf00dfeedf00dfeed\n")
        identity, ca = str(home / "state/identity/coordinator.pem"), str(home / "state/identity/authority.pem")
        served = Served("digits", "--model", self.model, "--identity", identity, "--token-file", str(tokens),
                        folder=self.folder)
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


if __name__ == "__main__":
    unittest.main()
