"""A bridge to PyTorch: a module as an ONNX file that Mangrove trains, and the trained weights back into the module.

    mangrove.torch.export(module, example, "net.onnx")
    # mangrove train --model net.onnx --data ... --run-dir runs/net
    mangrove.torch.load_weights(module, "runs/net/model.onnx")

Import it by its name: `import mangrove.torch`. It needs PyTorch (1.13, of Debian 12, is what it is tested with) and, to
check and load weights, the package `onnx`.
"""
from __future__ import annotations

import copy
import os
import warnings
from typing import Any, Dict, List

import numpy as np
import numpy.typing as npt
import torch

from .errors import Error, InvalidArgument

_OPSET = 13
_COUNTER = "num_batches_tracked"  # of a batch normalization: no part of what it computes


def export(module: torch.nn.Module, example: Any, path: "os.PathLike[str] | str", *, input_name: str = "input",
           output_name: str = "logits") -> str:
    """Writes the module as an ONNX file that can be trained. Gives back the path.

    module   with one input and one output. Layers keep the names of their parameters, and batch normalizations are
             not merged into convolutions. The module itself stays as it is.
    example  an input, [N, ...]; the file takes any N

    errors   InvalidArgument: parameters that are not in the file under their names, because they are not used, or layers
             share them; those of torch.onnx.export().
    """
    target = os.fspath(path)
    with torch.no_grad():
        torch.onnx.export(_as_in_training(module), example, target, opset_version=_OPSET, do_constant_folding=False,
                          training=torch.onnx.TrainingMode.PRESERVE, input_names=[input_name],
                          output_names=[output_name], dynamic_axes={input_name: {0: "N"}, output_name: {0: "N"}})
    try:
        _check_state(module, target)
    except BaseException:
        os.unlink(target)
        raise
    return target


def load_weights(module: torch.nn.Module, path: "os.PathLike[str] | str") -> List[str]:
    """Copies the weights of an ONNX file into the module's parameters and buffers of the same names.

    Gives back the names. The module changes completely, or not at all.

    errors   InvalidArgument: names, the file lacks some or has them in another shape; Error (failed_precondition): the
             package `onnx` is not installed; OSError: of the file.
    """
    stored, state = _initializers(os.fspath(path)), _state(module)
    wrong = [f"{name} ({'missing' if name not in stored else f'{list(stored[name].shape)} in the file'})"
             for name, value in state.items() if name not in stored or stored[name].shape != tuple(value.shape)]
    if wrong:
        raise InvalidArgument(f"{os.fspath(path)} does not fit the module: {', '.join(wrong)}; is it of a file that "
                              "export() wrote for this module?")
    with torch.no_grad():
        for name, value in state.items():
            value.copy_(torch.from_numpy(np.array(stored[name])))
    return list(state)


def _state(module: torch.nn.Module) -> Dict[str, torch.Tensor]:
    return {name: value for name, value in module.state_dict().items() if not name.endswith(_COUNTER)}


def _as_in_training(module: torch.nn.Module) -> torch.nn.Module:
    """A copy that drops out as in training. Its normalizations are not in training: the example, which goes through it,
    would change their statistics."""
    copied = copy.deepcopy(module).train()
    for layer in copied.modules():
        if isinstance(layer, torch.nn.modules.batchnorm._NormBase):
            layer.eval()
    return copied


def _check_state(module: torch.nn.Module, path: str) -> None:
    stored = _initializers(path)
    missing = [name for name, value in _state(module).items()
               if name not in stored or not np.array_equal(stored[name], value.detach().cpu().numpy())]
    if missing:
        raise InvalidArgument(f"these parameters cannot be exported under their names: {', '.join(missing)}. They are "
                              "not used, or shared by layers, or ONNX has their layer in another form")


def _initializers(path: str) -> Dict[str, npt.NDArray[Any]]:
    """The constants of an ONNX file by their names. errors: InvalidArgument (no ONNX file), OSError."""
    try:
        import onnx
        import onnx.numpy_helper
    except ImportError:
        raise Error("the bridge to PyTorch needs the package onnx: install python3-onnx, or `pip install onnx`",
                    code="failed_precondition") from None
    with open(path, "rb") as file:
        data = file.read()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # that not all data could be read is only a warning
            model = onnx.load_model_from_string(data)
        tensors = list(model.graph.initializer)
        outside = [one.name for one in tensors if one.data_location == onnx.TensorProto.EXTERNAL]
        if outside:
            raise InvalidArgument(f"{path}: the weights {', '.join(outside)} lie in other files")
        return {one.name: onnx.numpy_helper.to_array(one) for one in tensors}
    except InvalidArgument:
        raise
    except Exception as error:  # of protobuf and of onnx, which have no class of their own for this
        raise InvalidArgument(f"{path} is no ONNX file that can be read: {error}") from None
