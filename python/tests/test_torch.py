"""The bridge to PyTorch: logits and weights are the same on both sides."""
from __future__ import annotations

import importlib.util
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import mangrove

from .test_program import PROGRAM, mangrove_run

HAS_TORCH = importlib.util.find_spec("torch") is not None and importlib.util.find_spec("onnx") is not None
if HAS_TORCH:
    import torch
    from torch import nn

    import mangrove.torch

    class Block(nn.Module):
        """A residual block."""

        def __init__(self, width: int) -> None:
            super().__init__()
            self.conv1, self.norm1 = nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
            self.conv2, self.norm2 = nn.Conv2d(width, width, 3, padding=1, groups=2), nn.BatchNorm2d(width)

        def forward(self, x: Any) -> Any:
            return torch.relu(x + self.norm2(self.conv2(torch.relu(self.norm1(self.conv1(x))))))

    class Recurrent(nn.Module):
        """The rows of an image, one after the other."""

        def __init__(self) -> None:
            super().__init__()
            self.rows, self.last = nn.LSTM(28, 16, batch_first=True), nn.Linear(16, 10)

        def forward(self, x: Any) -> Any:
            return self.last(self.rows(x.reshape(-1, 28, 28))[0][:, -1])

    def make_module() -> nn.Module:
        torch.manual_seed(5)
        module = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU(), Block(8), nn.MaxPool2d(2),
                               nn.Dropout(0.2), nn.Flatten(), nn.Linear(288, 24), nn.Tanh(), nn.Linear(24, 10))
        with torch.no_grad():  # statistics that are not those of a new module
            for _ in range(3):
                module(torch.randn(16, 1, 28, 28) * 2 + 1)
        return module


class TorchTest(unittest.TestCase):
    """A test with a module, and a file for it."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.module = make_module()
        self.file = self.folder / "net.onnx"

    def export(self, module: Any, example: Any = None) -> str:
        return mangrove.torch.export(module, torch.zeros(2, 1, 28, 28) if example is None else example, self.file)


@unittest.skipUnless(HAS_TORCH, "torch or onnx is not installed")
class Files(TorchTest):
    def test_module_stays_as_it_is(self) -> None:
        before = {name: value.clone() for name, value in self.module.state_dict().items()}
        for training in (False, True):
            self.module.train(training)
            self.assertEqual(self.export(self.module), str(self.file))
            self.assertEqual(self.module.training, training)
        for name, value in self.module.state_dict().items():
            self.assertTrue(torch.equal(value, before[name]), name)

    def test_layers_of_training_are_in_the_file(self) -> None:
        self.module.eval()
        self.export(self.module)
        import onnx
        operators = [node.op_type for node in onnx.load(str(self.file)).graph.node]
        self.assertEqual((operators.count("BatchNormalization"), operators.count("Dropout")), (3, 1))

    def test_weights_come_back(self) -> None:
        self.export(self.module)
        other = make_module()
        with torch.no_grad():
            for value in other.parameters():
                value.fill_(7)
        names = mangrove.torch.load_weights(other, self.file)
        self.assertIn("3.norm1.running_var", names)
        for name, value in self.module.state_dict().items():
            if not name.endswith("num_batches_tracked"):  # which nothing is computed with
                self.assertTrue(torch.equal(value, other.state_dict()[name]), name)

    def test_file_that_does_not_fit_changes_nothing(self) -> None:
        self.export(self.module)
        other = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(4), nn.Linear(2, 2))
        before = [value.clone() for value in other.state_dict().values()]
        with self.assertRaisesRegex(mangrove.InvalidArgument, r"1.weight \(\[8\] in the file\).*2.weight \(missing\)"):
            mangrove.torch.load_weights(other, self.file)
        for value, old in zip(other.state_dict().values(), before):
            self.assertTrue(torch.equal(value, old))

    def test_what_is_no_onnx_file(self) -> None:
        self.export(self.module)
        whole = self.file.read_bytes()
        for data, why in ((b"this is no ONNX file", "is no ONNX file"), (whole[:-100], "is no ONNX file"),
                          (b"", "does not fit the module")):
            self.file.write_bytes(data)
            with self.subTest(data=data[:20]), self.assertRaisesRegex(mangrove.InvalidArgument, "net.onnx " + why):
                mangrove.torch.load_weights(self.module, self.file)
        with self.assertRaises(FileNotFoundError):
            mangrove.torch.load_weights(self.module, self.folder / "none.onnx")

    def test_parameters_without_their_names_are_refused(self) -> None:
        class Unused(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.used, self.unused = nn.Linear(3, 2), nn.Linear(3, 2)

            def forward(self, x: Any) -> Any:
                return self.used(x)

        with self.assertRaisesRegex(mangrove.InvalidArgument, "unused.weight, unused.bias"):
            self.export(Unused(), torch.zeros(1, 3))
        self.assertFalse(self.file.exists())

    def test_without_the_package_onnx(self) -> None:
        with mock.patch.dict("sys.modules", {"onnx": None}), self.assertRaisesRegex(mangrove.Error, "needs the package onnx"):
            mangrove.torch.load_weights(self.module, self.file)


@unittest.skipUnless(HAS_TORCH, "torch or onnx is not installed")
@unittest.skipUnless(PROGRAM, "MANGROVE_PROGRAM does not name the program")
class TorchAndTheProgram(TorchTest):
    def same_logits(self, file: str) -> float:
        """The greatest difference between the module's logits and those of `mangrove predict`."""
        batch = np.random.default_rng(4).random((32, 1, 28, 28), dtype=np.float32)
        np.save(self.folder / "x.npy", batch)
        mangrove_run("predict", file, "--input", "x.npy", "--output", "y.npy", folder=self.folder)
        self.module.eval()
        with torch.no_grad():
            expected = self.module(torch.from_numpy(batch)).numpy()
        self.assertGreater(expected.std(), 0.01)
        return float(np.abs(np.load(self.folder / "y.npy") - expected).max())

    def test_exported_network_gives_the_module_s_logits(self) -> None:
        self.export(self.module)
        self.assertLess(self.same_logits("net.onnx"), 1e-4)

    def test_trained_weights_give_the_trained_network_s_logits(self) -> None:
        self.train_and_compare()

    def test_recurrent_network(self) -> None:
        torch.manual_seed(6)
        self.module = Recurrent()
        self.train_and_compare()

    def train_and_compare(self) -> None:
        self.export(self.module)
        self.assertLess(self.same_logits("net.onnx"), 1e-4)
        mangrove_run("train", "--model", "net.onnx", "--data", "glyphs", "--limit", "1000", "--epochs", "2", "--local", "2",
                     "--run-dir", "run", folder=self.folder)
        self.assertGreater(self.same_logits("run/model.onnx"), 0.01)  # it has learnt something
        mangrove.torch.load_weights(self.module, self.folder / "run" / "model.onnx")
        self.assertLess(self.same_logits("run/model.onnx"), 1e-4)


if __name__ == "__main__":
    unittest.main()
