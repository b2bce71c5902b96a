"""Job files."""
from __future__ import annotations

from typing import Any, Dict

from .errors import Error, InvalidArgument

_LONGEST_FILE = 1 << 20  # bytes; job files have a few hundred


def job_from_yaml(path: str) -> Dict[str, Any]:
    """The keys of a job file. errors: OSError; failed_precondition (no PyYAML); InvalidArgument (no job file)."""
    try:
        import yaml
    except ImportError:
        raise Error(f"{path}: job files need PyYAML: install python3-yaml, or give the job as a dictionary",
                    code="failed_precondition") from None
    with open(path, "rb") as file:
        text = file.read(_LONGEST_FILE + 1)
    if len(text) > _LONGEST_FILE:
        raise InvalidArgument(f"{path} has more than {_LONGEST_FILE} bytes; is it a job file?")
    try:
        keys = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise InvalidArgument(f"{path} is no YAML: {error}") from None
    if not isinstance(keys, dict) or not all(isinstance(key, str) for key in keys):
        raise InvalidArgument(f"{path} is no job file: expected keys and values, as in docs/jobs.md")
    return keys
