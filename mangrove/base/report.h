#pragma once

#include <functional>
#include <string>

namespace mangrove {

/// What a running job tells its client. `kind` says how to read `json`, one JSON object:
///   "progress"    how far it is (docs/json.md lists the keys of each kind)
///   "event"       something a person wants to know of: a node lost, work moved
///   "nodes"       resource use of every node
///   "checkpoint"  `attachment` is a checkpoint file
///   "result"      the last one of a job that succeeded; `attachment` is the model as ONNX, if the job made one
struct Report {
  std::string kind;
  std::string json;
  std::string attachment;
};

/// threads: called from one thread at a time.
using Reporter = std::function<void(Report)>;

}  // namespace mangrove
