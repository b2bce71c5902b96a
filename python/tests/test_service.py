"""Service: tensors as bytes, images, retries, threads; against a small server of the Open Inference Protocol."""
from __future__ import annotations

import json
import tempfile
import threading
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, List, Tuple

import numpy as np

import mangrove
from mangrove._tensors import DATATYPES, decode_response, encode_request, fit

from .fake_server import FakeServer, Reply, Request, problem

MODEL = {"name": "digits", "versions": ["1"], "platform": "onnx_mangrove",
         "inputs": [{"name": "input", "datatype": "FP32", "shape": [-1, 2, 3]}],
         "outputs": [{"name": "logits", "datatype": "FP32", "shape": [-1, 6]}]}
TWO = {"name": "two", "versions": ["1"], "platform": "onnx_mangrove",
       "inputs": [{"name": "a", "datatype": "INT64", "shape": [-1]}, {"name": "b", "datatype": "UINT8", "shape": [-1]}],
       "outputs": [{"name": "x", "datatype": "INT64", "shape": [-1]}, {"name": "y", "datatype": "BOOL", "shape": [-1]}]}
INFER = "POST /v2/models/digits/infer"


def binary(outputs: List[Dict[str, Any]], data: bytes, length: Any = None) -> Reply:
    head = json.dumps({"model_name": "digits", "outputs": outputs}).encode()
    length = len(head) if length is None else length
    return Reply(body=head + data, headers=(("Inference-Header-Content-Length", str(length)),))


def output(size: int, **more: Any) -> Dict[str, Any]:
    return {"name": "logits", "datatype": "FP32", "shape": [1, 6], "parameters": {"binary_data_size": size}, **more}


def inputs_of(request: Request) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """The JSON of a request, and its arrays: read here in another way than the client writes them."""
    at = int(request.headers["inference-header-content-length"])
    head, arrays = json.loads(request.body[:at]), {}
    for one in head["inputs"]:
        size = one["parameters"]["binary_data_size"]
        kind = {"FP32": "<f4", "INT64": "<i8", "UINT8": "u1"}[one["datatype"]]
        arrays[one["name"]] = np.frombuffer(request.body[at:at + size], kind).reshape(one["shape"])
        at += size
    if at != len(request.body):
        raise AssertionError("bytes that belong to no input")
    return head, arrays


class Tensors(unittest.TestCase):
    def test_there_and_back(self) -> None:
        random = np.random.default_rng(7)
        for datatype, dtype in DATATYPES.items():
            for shape in ((), (0,), (3,), (2, 0, 4), (1, 2, 3, 4)):
                array = (random.random(shape) * 100).astype(dtype)
                info = mangrove.TensorInfo("x", datatype, shape)
                body, length = encode_request([(info, array)], [], {})
                head = json.loads(body[:length])
                head["outputs"] = head.pop("inputs")
                text = json.dumps(head).encode()
                back = decode_response(text + body[length:], str(len(text)))["x"]
                np.testing.assert_array_equal(back, array)
                self.assertEqual((back.dtype, back.shape), (array.dtype.newbyteorder("="), shape))
                back[...] = 1  # the answer belongs to the caller

    def test_arrays_are_brought_into_the_form_of_the_wire(self) -> None:
        info = mangrove.TensorInfo("x", "FP32", (-1, 2))
        big = np.array([[1.5, 2], [3, 4]], dtype=">f8")
        self.assertEqual(fit(big.T, info).tobytes(), np.array([1.5, 3, 2, 4], dtype="<f4").tobytes())
        self.assertEqual(fit([[1, 2]], info).dtype, np.dtype("<f4"))

    def test_what_does_not_fit_is_named(self) -> None:
        info = mangrove.TensorInfo("x", "UINT8", (-1, 2))
        for array, pattern in ((np.zeros(2, np.uint8), r"shape \[2\].*takes \[-1, 2\].*give array\[None\]"),
                               (np.zeros((1, 3), np.uint8), r"shape \[1, 3\]"),
                               (np.zeros((1, 2), np.float32), r"type float32.*astype\('uint8'\)"),
                               (np.array([["a", "b"]]), "type <U1"), (np.array([[None, 1]]), "type object")):
            with self.subTest(array=array), self.assertRaisesRegex(mangrove.InvalidArgument, "input 'x'.*" + pattern):
                fit(array, info)
        with self.assertRaisesRegex(mangrove.InvalidArgument, "BF16, which this client does not know"):
            fit(np.zeros(1), mangrove.TensorInfo("x", "BF16", (1,)))


class ServiceTest(unittest.TestCase):
    def setUp(self) -> None:
        self.server = FakeServer()
        self.addCleanup(self.server.close)
        self.server.on("GET /v2/models/digits", MODEL)
        self.server.on("GET /v2/models/two", TWO)
        self.service = self.client("digits")

    def client(self, model: Any) -> mangrove.Service:
        service = mangrove.Service(self.server.url, model, token="f00d", timeout_s=5)
        service._http.limits = replace(service._http.limits, retry_s=1.5)
        self.addCleanup(service.close)
        return service

    def flatten(self, request: Request) -> Reply:
        """The model `digits`: each sample as a row."""
        _, arrays = inputs_of(request)
        rows = arrays["input"].reshape(len(arrays["input"]), 6)
        return binary([output(rows.nbytes, shape=list(rows.shape))], rows.tobytes())


class Inferring(ServiceTest):
    def test_array(self) -> None:
        self.server.on(INFER, self.flatten)
        batch = np.arange(24, dtype=np.float64).reshape(4, 2, 3)
        answer = self.service.infer(batch)
        np.testing.assert_array_equal(answer, batch.reshape(4, 6))
        self.assertEqual(answer.dtype, np.float32)
        head, _ = inputs_of(self.server.calls("/v2/models/digits/infer")[0])
        self.assertEqual(head["outputs"], [{"name": "logits", "parameters": {"binary_data": True}}])
        self.assertNotIn("parameters", head)

    def test_names(self) -> None:
        def answer(request: Request) -> Reply:
            _, arrays = inputs_of(request)
            total = arrays["a"] + arrays["b"]
            return binary([{"name": "x", "datatype": "INT64", "shape": [2], "parameters": {"binary_data_size": 16}},
                           {"name": "y", "datatype": "BOOL", "shape": [2], "parameters": {"binary_data_size": 2}}],
                          total.tobytes() + b"\x00\x01")

        self.server.on("POST /v2/models/two/infer", answer)
        service = self.client("two")
        given = {"b": np.array([1, 2], np.uint8), "a": np.array([10, 1 << 40])}
        answers = service.infer(given)
        np.testing.assert_array_equal(answers["x"], [11, (1 << 40) + 2])
        np.testing.assert_array_equal(answers["y"], [False, True])
        for wrong in ({"a": given["a"]}, {**given, "c": given["a"]}, given["a"]):
            with self.subTest(wrong=wrong), self.assertRaisesRegex(mangrove.InvalidArgument, "inputs a, b"):
                service.infer(wrong)

    def test_one_of_several_outputs(self) -> None:
        self.server.on("GET /v2/models/digits", {**MODEL, "outputs": [*MODEL["outputs"], {
            "name": "exit", "datatype": "FP32", "shape": [-1]}]})
        self.server.on(INFER, self.flatten)
        self.assertEqual(self.service.infer(np.zeros((1, 2, 3)), outputs=["logits"]).shape, (1, 6))
        with self.assertRaisesRegex(mangrove.Error, "has not sent the output exit"):
            self.service.infer(np.zeros((1, 2, 3)))

    def test_deadline_and_priority(self) -> None:
        self.server.on(INFER, self.flatten)
        self.service.infer(np.zeros((1, 2, 3)), deadline_s=0.5, priority=3)
        head, _ = inputs_of(self.server.calls("/v2/models/digits/infer")[0])
        self.assertEqual(head["parameters"], {"timeout": 500_000, "priority": 3})

    def test_answers_that_cannot_be_right(self) -> None:
        row = bytes(24)
        for reply in (binary([output(24)], row[:-1]), binary([output(24)], row + b"x"), binary([output(20)], row[:20]),
                      binary([output(24, shape=[-1, -6])], row), binary([output(24, shape=[1 << 62, 6])], row),
                      binary([output(24, shape=[True, 6])], row), binary([output(24, datatype="FP16")], row),
                      binary([output(24), output(24)], row * 2), binary([output(24)], row, length=10_000),
                      binary([output(24)], row, length=-1), binary([output(24)], row, length="9" * 5000),
                      binary([output(1 << 50, shape=[1 << 48])], b""), binary([output(24)], row, length=5),
                      binary([{**output(24), "shape": [1] * 40}], row), binary(["x"], row)):  # type: ignore[list-item]
            self.server.on(INFER, reply)
            with self.subTest(reply=reply), self.assertRaises(mangrove.Error) as caught:
                self.service.infer(np.zeros((1, 2, 3)))
            self.assertEqual(caught.exception.code, "data_loss")

    def test_json_is_not_taken_for_bytes(self) -> None:
        for reply in (Reply(body=json.dumps({"outputs": [{"name": "logits", "data": [0.0] * 6}]}).encode()),
                      binary([{"name": "logits", "datatype": "FP32", "shape": [1, 6], "data": [0.0] * 6}], b"")):
            self.server.on(INFER, reply)
            with self.assertRaises(mangrove.Error) as caught:
                self.service.infer(np.zeros((1, 2, 3)))
            self.assertEqual(caught.exception.code, "unimplemented")

    def test_full_queue(self) -> None:
        busy = Reply(429, b'{"error":"the queue is full"}', (("Retry-After", "0"),))
        self.server.on(INFER, busy, busy, self.flatten)
        self.assertEqual(self.service.infer(np.zeros((1, 2, 3))).shape, (1, 6))
        self.server.on(INFER, busy._replace(headers=()))
        with self.assertRaisesRegex(mangrove.Unavailable, r"the queue is full \(it has too many requests\)"):
            self.service.infer(np.zeros((1, 2, 3)))

    def test_each_thread_has_one_connection(self) -> None:
        self.server.on(INFER, self.flatten)
        self.service.metadata()
        failures: List[BaseException] = []
        both = threading.Barrier(4)

        def work(number: int) -> None:
            try:
                for i in range(20):
                    both.wait(10)
                    batch = np.full((1 + i % 3, 2, 3), number * 100 + i, dtype=np.float32)
                    np.testing.assert_array_equal(self.service.infer(batch), batch.reshape(-1, 6))
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        self.assertEqual(failures, [])
        calls = self.server.calls("/v2/models/digits/infer")
        self.assertEqual((len(calls), len({one.connection for one in calls})), (80, 4))

    def test_closed_service_opens_a_new_connection(self) -> None:
        self.server.on(INFER, self.flatten)
        with self.service as service:
            service.infer(np.zeros((1, 2, 3)))
        self.assertEqual(self.service.infer(np.zeros((1, 2, 3))).shape, (1, 6))


class Describing(ServiceTest):
    def test_metadata(self) -> None:
        metadata = self.service.metadata()
        self.assertEqual((metadata.name, metadata.versions, metadata.platform), ("digits", ("1",), "onnx_mangrove"))
        self.assertEqual(str(metadata.inputs[0]), "input: FP32 [-1, 2, 3]")
        self.assertEqual(self.server.requests[0].headers["authorization"], "Bearer f00d")

    def test_ready(self) -> None:
        self.server.on("GET /v2/models/digits/ready", Reply(503, b"{}", (("Retry-After", "1"),)), Reply(400), Reply())
        self.assertEqual([self.service.ready() for _ in range(3)], [False, False, True])
        self.server.on("GET /v2/health/ready", Reply(400), Reply())
        self.client(None).wait_ready(5)
        self.server.on("GET /v2/models/digits/ready", problem(401, "", "no token"))
        with self.assertRaisesRegex(mangrove.Refused, "--token-file"):
            self.service.ready()

    def test_not_ready_in_time(self) -> None:
        self.server.on("GET /v2/models/digits/ready", Reply(400))
        with self.assertRaisesRegex(mangrove.Unavailable, "not ready after 0.1 s: the model is not ready"):
            self.service.wait_ready(0.1)

    def test_the_only_model_is_found(self) -> None:
        index = [{"name": "digits", "version": "1", "state": "READY", "reason": ""}]
        self.server.on("POST /v2/repository/index", index)
        service = self.client(None)
        self.assertEqual(service.metadata().name, "digits")
        self.assertEqual(service.models(), [mangrove.Model("digits", "1", "READY", "")])
        self.server.on("POST /v2/repository/index", [*index, {**index[0], "name": "two"}])
        with self.assertRaisesRegex(mangrove.InvalidArgument, "the server has digits, two: choose one"):
            self.client(None).metadata()

    def test_versions_and_names_are_quoted(self) -> None:
        self.server.on("GET /v2/models/a%20b%2Fc/versions/2", MODEL)
        self.assertEqual(self.client("a b/c/versions/2").metadata().name, "digits")
        with self.assertRaisesRegex(mangrove.NotFound, "no such call"):
            self.client("other").metadata()


class Classifying(ServiceTest):
    CALL = "/v2/models/digits/classify?k=2"

    def setUp(self) -> None:
        super().setUp()
        self.server.on("POST " + self.CALL, {"top": [{"class": 7, "label": "seven", "probability": 0.9},
                                                     {"class": 2, "label": "t\x1bwo", "probability": None}]})

    def sent(self) -> bytes:
        return self.server.calls(self.CALL)[-1].body

    def test_answers(self) -> None:
        first, second = self.service.classify(b"JPEG", k=2)
        self.assertEqual((first, first.label), (("seven", 0.9), "seven"))
        self.assertEqual(second.label, "t\\x1bwo")
        self.assertTrue(np.isnan(second.probability))
        self.assertEqual(self.sent(), b"JPEG")

    def test_files(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "seven.png")
            path.write_bytes(b"\x89PNG")
            for one in (path, str(path)):
                self.service.classify(one, k=2)
                self.assertEqual(self.sent(), b"\x89PNG")
            with self.assertRaises(FileNotFoundError):
                self.service.classify(path.with_name("eight.png"))

    def test_arrays(self) -> None:
        gray = np.arange(6, dtype=np.uint8).reshape(2, 3)
        self.service.classify(gray, k=2)
        self.assertEqual(self.sent(), b"P5\n3 2\n255\n" + bytes(range(6)))
        self.service.classify(np.arange(12, dtype=np.uint8).reshape(2, 2, 3).transpose(1, 0, 2), k=2)
        self.assertEqual(self.sent(), b"P6\n2 2\n255\n" + bytes([0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11]))

    def test_images_of_pil(self) -> None:
        class Picture:  # what the client uses of PIL, which need not be there
            mode = "RGBA"

            def convert(self, mode: str) -> Any:
                return np.full((1, 1, 3) if mode == "RGB" else (1, 1), 9, np.uint8)

        self.service.classify(Picture(), k=2)
        self.assertEqual(self.sent(), b"P6\n1 1\n255\n\t\t\t")

    def test_what_is_no_image(self) -> None:
        for image in (np.zeros((2, 2)), np.zeros((2, 2, 4), np.uint8), np.zeros((0, 2), np.uint8), 7, None):
            with self.subTest(image=image), self.assertRaisesRegex(mangrove.InvalidArgument, "is no image"):
                self.service.classify(image)
        self.assertEqual(self.server.requests, [])


if __name__ == "__main__":
    unittest.main()
