"""Images as the bytes of files."""
from __future__ import annotations

import os
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from .errors import InvalidArgument

#: A file's path, its bytes, an array [H, W] or [H, W, 3] of uint8, or an image of PIL.
Image = Union[str, "os.PathLike[str]", bytes, bytearray, npt.NDArray[np.uint8], Any]

_LONGEST_FILE = 256 << 20  # bytes; a server may take less


def image_bytes(image: Image) -> bytes:
    """The image as a file that the server reads: JPEG, PNG, PPM or PGM.

    errors  OSError; InvalidArgument: something else, a file that is too long, an array of another shape or type.
    """
    if isinstance(image, (bytes, bytearray)):
        return bytes(image)
    if isinstance(image, (str, os.PathLike)):
        return _file_bytes(os.fspath(image))
    if isinstance(image, np.ndarray):
        return _portable_map(image)
    if hasattr(image, "convert") and hasattr(image, "mode"):  # of PIL, which need not be installed
        return _portable_map(np.asarray(image.convert("L" if image.mode in ("1", "L") else "RGB")))
    raise InvalidArgument(f"a {type(image).__name__} is no image: expected a path, bytes, an array [H, W] or [H, W, 3] "
                          "of uint8, or an image of PIL")


def _file_bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        data = file.read(_LONGEST_FILE + 1)
    if len(data) > _LONGEST_FILE:
        raise InvalidArgument(f"{path} has more than {_LONGEST_FILE} bytes")
    return data


def _portable_map(pixels: npt.NDArray[Any]) -> bytes:
    """PGM of [H, W], PPM of [H, W, 3]."""
    is_gray, is_colour = pixels.ndim == 2, pixels.ndim == 3 and pixels.shape[2] == 3
    if pixels.dtype != np.uint8 or not (is_gray or is_colour) or pixels.size == 0:
        raise InvalidArgument(f"an array {list(pixels.shape)} of {pixels.dtype} is no image: expected [H, W] or "
                              "[H, W, 3] of uint8, 0 to 255")
    height, width = pixels.shape[:2]
    return b"P%d\n%d %d\n255\n" % (5 if is_gray else 6, width, height) + np.ascontiguousarray(pixels).tobytes()
