"""A client of `mangrove serve`, and of other servers of the Open Inference Protocol v2 with binary tensors."""
from __future__ import annotations

import time
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Type, Union, overload
from urllib.parse import quote

import numpy.typing as npt

from ._address import parse_address
from ._fields import Fields, parse_json
from ._http import HttpClient, Limits
from ._images import Image, image_bytes
from ._tensors import Array, TensorInfo, decode_response, encode_request, fit, names_of, tensor_info
from .errors import Error, InvalidArgument, Unavailable

_ADVICE: Mapping[int, str] = {
    401: "give a token of the server's --token-file: token=...",
    403: "this token does not allow it",
    429: "it has too many requests",
    503: "is the model loaded? service.models() says so",
}
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 1.0  # of wait_ready()


@dataclass(frozen=True)
class Model:
    """A model of the server's repository. state: "READY", "LOADING", "UNAVAILABLE", ...; reason: of such a state."""

    name: str
    version: str
    state: str
    reason: str


@dataclass(frozen=True)
class ModelMetadata:
    """What a model takes and gives."""

    name: str
    versions: Tuple[str, ...]
    platform: str
    inputs: Tuple[TensorInfo, ...]
    outputs: Tuple[TensorInfo, ...]


class Answer(NamedTuple):
    """A class that an image may be of. probability: between 0 and 1; NaN where the network gave no number."""

    label: str
    probability: float


def _model(raw: Any) -> Model:
    fields = Fields(raw, "a model of the server")
    return Model(fields.required_text("name"), fields.text("version"), fields.text("state"), fields.text("reason"))


def _answer(raw: Any) -> Answer:
    fields = Fields(raw, "an answer to an image")
    return Answer(fields.required_text("label"), fields.number("probability", float("nan")))


class Service:
    """A model that is served over HTTP. Any thread may call any method; each has a connection of its own, which is kept.

    A request that the server turns away because it has too much to do (429, or 503 with Retry-After) is sent again for
    up to ten seconds: asking for an inference twice does no harm.
    """

    def __init__(self, url: str, model: Optional[str] = None, token: Optional[str] = None, ca: Optional[str] = None, *,
                 server_name: Optional[str] = None, insecure: bool = False, timeout_s: float = 60.0) -> None:
        """Makes no connection yet.

        url        such as "http://127.0.0.1:8000"
        model      its name, or "NAME/versions/VERSION"; None: the only one that the server has
        token      of the server's --token-file
        ca, server_name, insecure   as of mangrove.connect()
        timeout_s  until an answer has come

        errors  InvalidArgument: no address; a token over plain http to another machine; no such PEM file.
        """
        self._http = HttpClient(parse_address(url, token), ca=ca, server_name=server_name, insecure=insecure,
                                limits=replace(Limits(), timeout_s=timeout_s), advice=_ADVICE)
        self._model = model
        self._metadata: Optional[ModelMetadata] = None

    def ready(self) -> bool:
        """Whether the model, or without one all models, can be asked. errors: Unavailable (nobody answers)."""
        path = "/v2/health/ready" if self._model is None else f"{self._model_path()}/ready"
        try:
            self._http.request("GET", path, safe=True, waits=False)
            return True
        except Error as error:
            if error.status in (400, 503):
                return False
            raise

    def wait_ready(self, timeout_s: float = 30.0) -> None:
        """Waits until the server answers and the model is ready. errors: Unavailable (not in time)."""
        give_up, pause = time.monotonic() + timeout_s, _FIRST_PAUSE_S
        while True:
            try:
                if self.ready():
                    return
                why = "the model is not ready"
            except Unavailable as error:
                why = str(error)
            if time.monotonic() + pause > give_up:
                raise Unavailable(f"{self._http.address} is not ready after {timeout_s:g} s: {why}")
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)

    def models(self) -> List[Model]:
        """All models and versions of the server, and their states."""
        index = self._http.post_json("/v2/repository/index", {}, safe=True)
        return Fields({"models": index}, "the list of models").items("models", _model)

    def metadata(self) -> ModelMetadata:
        """The model's inputs and outputs, with shapes and types. errors: NotFound, Unavailable."""
        fields = Fields(self._http.get_json(self._model_path()), "the description of a model")
        self._metadata = ModelMetadata(fields.required_text("name"), tuple(fields.texts("versions")),
                                       fields.text("platform"), tuple(fields.items("inputs", tensor_info)),
                                       tuple(fields.items("outputs", tensor_info)))
        return self._metadata

    @overload
    def infer(self, inputs: Mapping[str, npt.ArrayLike], *, outputs: Optional[Sequence[str]] = None,
              deadline_s: Optional[float] = None, priority: int = 0) -> Dict[str, Array]: ...

    @overload
    def infer(self, inputs: npt.ArrayLike, *, outputs: Optional[Sequence[str]] = None,
              deadline_s: Optional[float] = None, priority: int = 0) -> Array: ...

    def infer(self, inputs: Any, *, outputs: Optional[Sequence[str]] = None, deadline_s: Optional[float] = None,
              priority: int = 0) -> Union[Array, Dict[str, Array]]:
        """Runs the model.

        inputs      an array for the only input, then the answer is the array of the only output; or arrays by the names
                    of the inputs, then the answer has arrays by the names of the outputs. The first dimension is the
                    batch: [N, ...]. See metadata() for shapes and types; values are not scaled.
        outputs     names of those that are wanted; None: all
        deadline_s  the server gives the request up after this time
        priority    1 (first) to 100 (last); 0: as 50

        errors  InvalidArgument: names the input, its shape or type; Unavailable: too much to do, or too late.
        """
        metadata = self._metadata or self.metadata()
        by_name = dict(inputs) if isinstance(inputs, Mapping) else {_only_input(metadata.inputs): inputs}
        wanted = list(outputs) if outputs is not None else names_of(metadata.outputs)
        parameters: Dict[str, Any] = {"priority": priority} if priority else {}
        if deadline_s is not None:
            parameters["timeout"] = max(1, round(deadline_s * 1e6))
        answers = self._ask(_fitted(by_name, metadata), wanted, parameters)
        if isinstance(inputs, Mapping):
            return answers
        if len(answers) != 1:
            raise InvalidArgument(f"the model has the outputs {', '.join(answers)}: choose one with outputs=[...], or "
                                  "give the inputs by their names to get all")
        return next(iter(answers.values()))

    def classify(self, image: Image, k: int = 5) -> List[Answer]:
        """The k most probable classes of an image, the most probable first.

        The server prepares the image as the network's training samples were. image: the path or the bytes of a JPEG,
        PNG, PPM or PGM file, an array [H, W] or [H, W, 3] of uint8, or an image of PIL.

        errors  InvalidArgument: no image, or the model takes none; OSError: of the file.
        """
        answer = self._http.request("POST", f"{self._model_path()}/classify?k={int(k)}", body=image_bytes(image),
                                    headers={"Content-Type": "application/octet-stream"}, safe=True)
        what = "the answer to an image"
        return Fields(parse_json(answer.body, what), what).items("top", _answer)

    def close(self) -> None:
        """Closes the connections of all threads."""
        self._http.close()

    def __enter__(self) -> "Service":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Service({str(self._http.address)!r}, model={self._model!r})"

    def _ask(self, inputs: List[Tuple[TensorInfo, Array]], outputs: Sequence[str],
             parameters: Mapping[str, Any]) -> Dict[str, Array]:
        body, json_length = encode_request(inputs, outputs, parameters)
        answer = self._http.request(
            "POST", f"{self._model_path()}/infer", body=body, safe=True, longest=self._http.limits.longest_tensors,
            headers={"Content-Type": "application/octet-stream", "Inference-Header-Content-Length": str(json_length)})
        arrays = decode_response(answer.body, answer.headers.get("inference-header-content-length", ""))
        missing = [name for name in outputs if name not in arrays]
        if missing:
            raise Error(f"the server has not sent the output {', '.join(missing)}", code="data_loss")
        return arrays

    def _model_path(self) -> str:
        if self._model is None:
            names = sorted({model.name for model in self.models()})
            if len(names) != 1:
                raise InvalidArgument(f"the server has {', '.join(names) or 'no models'}: choose one with "
                                      "mangrove.Service(url, model=...)")
            self._model = names[0]
        name, *version = self._model.split("/versions/", 1)
        return "/v2/models/" + quote(name, safe="") + "".join("/versions/" + quote(one, safe="") for one in version)


def _only_input(inputs: Sequence[TensorInfo]) -> str:
    if len(inputs) != 1:
        raise InvalidArgument(f"the model has the inputs {', '.join(names_of(inputs))}: give arrays by their names")
    return inputs[0].name


def _fitted(given: Mapping[str, Any], metadata: ModelMetadata) -> List[Tuple[TensorInfo, Array]]:
    """Each input with its array. errors: InvalidArgument (an input is missing, not known, or does not fit)."""
    wanted = names_of(metadata.inputs)
    wrong = sorted(set(given) ^ set(wanted))
    if wrong:
        raise InvalidArgument(f"the model {metadata.name} has the inputs {', '.join(wanted)}: "
                              f"{', '.join(sorted(given)) or 'none'} came")
    return [(info, fit(given[info.name], info)) for info in metadata.inputs]
