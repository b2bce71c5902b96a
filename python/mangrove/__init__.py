"""Mangrove from Python: train on a cluster of boards, watch it, and ask served networks.

    import mangrove

    cluster = mangrove.connect("http://127.0.0.1:7080/#token=...")   # as `mangrove dashboard` prints it
    job = cluster.train(model="lenet", data="mnist", epochs=2)
    result = job.wait()
    print(result.accuracy, result.confusion)

    service = mangrove.Service("http://127.0.0.1:8000")              # of `mangrove serve`
    print(service.classify("seven.png", k=2))

docs/python.md explains all of it.
"""
from ._strategies import strategies
from ._tensors import TensorInfo
from .cluster import Cluster, Key, Member, Node, Role, RunningJob, Session, Snapshot, connect
from .errors import Error, InvalidArgument, JobFailed, NotFound, Refused, Unavailable
from .history import Curve, History
from .job import Job, JobInfo
from .local import local_cluster, local_service
from .reports import Epoch, Event, NodesUse, NodeUse, Progress, Report
from .result import Result
from .service import Answer, Model, ModelMetadata, Service

__version__ = "0.1.0"

__all__ = [
    "Answer", "Cluster", "Curve", "Epoch", "Error", "Event", "History", "InvalidArgument", "Job", "JobFailed", "JobInfo",
    "Key", "Member", "Model", "ModelMetadata", "Node", "NodeUse", "NodesUse", "NotFound", "Progress", "Refused", "Report",
    "Result", "Role", "RunningJob", "Service", "Session", "Snapshot", "TensorInfo", "Unavailable", "connect",
    "local_cluster", "local_service", "strategies",
]
