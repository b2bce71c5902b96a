"""Tensors of the Open Inference Protocol v2, in the extension for binary tensors: JSON first, then plain bytes.

source: kserve/open-inference-protocol, specification/protocol/inference_rest.md; triton-inference-server/server,
docs/protocol/extension_binary_data.md
"""
from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Sequence, Tuple

import numpy as np
import numpy.typing as npt

from ._fields import Fields, malformed, parse_object
from .errors import Error, InvalidArgument

Array = npt.NDArray[Any]

#: The types that the protocol names, as numpy's little-endian ones.
DATATYPES: Mapping[str, "np.dtype[Any]"] = {
    "FP32": np.dtype("<f4"), "FP64": np.dtype("<f8"), "INT8": np.dtype("i1"), "INT32": np.dtype("<i4"),
    "INT64": np.dtype("<i8"), "UINT8": np.dtype("u1"), "BOOL": np.dtype("?"),
}


@dataclass(frozen=True)
class TensorInfo:
    """An input or output of a model. shape: -1 stands for any number, as of the batch."""

    name: str
    datatype: str
    shape: Tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.name}: {self.datatype} {list(self.shape)}"


def tensor_info(raw: Any) -> TensorInfo:
    """errors: data_loss."""
    fields = Fields(raw, "an input or output of a model")
    return TensorInfo(fields.required_text("name"), fields.required_text("datatype"), _shape(fields))


def _shape(fields: Fields) -> Tuple[int, ...]:
    def size(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise malformed("a tensor", f"{value!r} is in its shape")
        return value
    return tuple(fields.items("shape", size))


def fit(array: npt.ArrayLike, wanted: TensorInfo) -> Array:
    """The array as the model takes it: contiguous, little-endian, of the model's type.

    Numbers are converted where numpy calls that "same_kind" (float64 to FP32, uint8 to FP32), but not from real to
    whole numbers. Values are not scaled. errors: InvalidArgument (shape or type do not fit).
    """
    dtype = DATATYPES.get(wanted.datatype)
    if dtype is None:
        raise InvalidArgument(f"input '{wanted.name}' has the type {wanted.datatype}, which this client does not know")
    given = np.asarray(array)
    fits = len(given.shape) == len(wanted.shape) and all(w in (-1, g) for g, w in zip(given.shape, wanted.shape))
    if not fits:
        is_one_sample = len(wanted.shape) == given.ndim + 1 and wanted.shape[0] in (-1, 1)
        raise InvalidArgument(f"input '{wanted.name}': the array has the shape {list(given.shape)}, and the model takes "
                              f"{list(wanted.shape)} (-1: any number)"
                              + ("; for one sample give array[None]" if is_one_sample else ""))
    if not np.can_cast(given.dtype, dtype, "same_kind"):
        raise InvalidArgument(f"input '{wanted.name}': the array has the type {given.dtype}, and the model takes "
                              f"{wanted.datatype}; convert it with array.astype('{dtype.name}')")
    return np.ascontiguousarray(given, dtype=dtype)


def encode_request(inputs: Sequence[Tuple[TensorInfo, Array]], outputs: Sequence[str],
                   parameters: Mapping[str, Any]) -> Tuple[bytes, int]:
    """The body of a request, and the length of the JSON at its beginning."""
    head: Dict[str, Any] = {
        "inputs": [{"name": info.name, "shape": list(array.shape), "datatype": info.datatype,
                    "parameters": {"binary_data_size": array.nbytes}} for info, array in inputs],
        "outputs": [{"name": name, "parameters": {"binary_data": True}} for name in outputs]}
    if parameters:
        head["parameters"] = dict(parameters)
    text = json.dumps(head).encode()
    return b"".join([text, *(array.tobytes() for _, array in inputs)]), len(text)


def decode_response(body: bytes, header_length: str) -> Dict[str, Array]:
    """The outputs by their names; the arrays can be written to.

    header_length  of the JSON at the beginning: the header Inference-Header-Content-Length
    errors         data_loss: a shape and its bytes differ. unimplemented: the server has answered in JSON alone.
    """
    what = "the answer to an inference"
    if not header_length:
        raise Error("the server has not answered with binary tensors; this client needs a server with that extension "
                    "of the Open Inference Protocol", code="unimplemented")
    is_number = header_length.isascii() and header_length.isdigit() and len(header_length) <= 12
    if not is_number or int(header_length) > len(body):
        raise malformed(what, f"its JSON cannot have {header_length[:20]} bytes")
    at = int(header_length)
    outputs: Dict[str, Array] = {}
    for raw in Fields(parse_object(body[:at], what), what).items("outputs", _as_it_is):
        fields = Fields(raw, "an output")
        name, array, at = _decode_output(fields, body, at)
        if name in outputs:
            raise malformed(what, f"it has the output '{name}' twice")
        outputs[name] = array
    if at != len(body):
        raise malformed(what, f"{len(body) - at} bytes belong to no output")
    return outputs


def _as_it_is(value: Any) -> Any:
    return value


def _decode_output(fields: Fields, body: bytes, at: int) -> Tuple[str, Array, int]:
    name, datatype = fields.required_text("name"), fields.required_text("datatype")
    what, dtype, shape = f"output '{name}'", DATATYPES.get(datatype), _shape(fields)
    if dtype is None:
        raise malformed(what, f"the type {datatype} is not known here")
    parameters = Fields(fields.optional_object("parameters") or {}, what)
    if "binary_data_size" not in parameters.raw:
        raise Error(f"{what}: the server has not sent it as binary data, as it was asked to", code="unimplemented")
    size = parameters.whole("binary_data_size")
    if any(one < 0 for one in shape) or len(shape) > 32 or math.prod(shape) * dtype.itemsize != size:
        raise malformed(what, f"{datatype} {list(shape)} does not have {size} bytes")
    if size > len(body) - at:
        raise malformed(what, f"{size} bytes are announced, and {len(body) - at} have come")
    flat = np.frombuffer(body, dtype=dtype, count=math.prod(shape), offset=at)
    return name, flat.reshape(shape).astype(dtype.newbyteorder("="), copy=True), at + size


def names_of(tensors: Sequence[TensorInfo]) -> List[str]:
    return [one.name for one in tensors]
