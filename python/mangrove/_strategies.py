"""Names of strategies that people know from other programs."""
from __future__ import annotations

from types import MappingProxyType
from typing import Any, Dict, Mapping

#: What `train(strategy=NAME)` means for names that Flower, PyTorch, Horovod and Keras have: the keys of the job. Keys
#: that you give yourself win over these. `mangrove strategies` shows Mangrove's own names.
strategies: Mapping[str, Mapping[str, Any]] = MappingProxyType({
    # Flower
    "FedAvg": MappingProxyType({"strategy": "federated", "local_epochs": 1}),
    "FedAvgM": MappingProxyType({"strategy": "federated", "local_epochs": 1, "outer_momentum": 0.9}),
    "FedMedian": MappingProxyType({"strategy": "federated", "local_epochs": 1, "aggregate": "median"}),
    "FedTrimmedAvg": MappingProxyType({"strategy": "federated", "local_epochs": 1, "aggregate": "trimmed_mean"}),
    "Krum": MappingProxyType({"strategy": "federated", "local_epochs": 1, "aggregate": "krum"}),
    # PyTorch, Horovod, Keras
    "DistributedDataParallel": MappingProxyType({"strategy": "all_reduce"}),
    "DistributedOptimizer": MappingProxyType({"strategy": "all_reduce"}),
    "MultiWorkerMirroredStrategy": MappingProxyType({"strategy": "all_reduce"}),
    "ParameterServerStrategy": MappingProxyType({"strategy": "parameter_server"}),
})


def without_aliases(keys: Mapping[str, Any]) -> Dict[str, Any]:
    """The same keys with the strategy by Mangrove's own name, and what belongs to the alias."""
    alias = strategies.get(keys["strategy"]) if isinstance(keys.get("strategy"), str) else None
    return dict(keys) if alias is None else {**alias, **keys, "strategy": alias["strategy"]}
