#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace mangrove {

/// How to read what a running job tells; docs/json.md lists the keys of each kind. The numbers are sent between
/// processes: never change or reuse one.
enum class ReportKind : std::uint8_t {
  progress = 1,    // how far it is
  event = 2,       // something a person wants to know of: a node lost, work moved
  nodes = 3,       // resource use of every node
  epoch = 4,       // what an epoch of training came to; `attachment` is the network, if it is the best so far
  checkpoint = 5,  // `attachment` is a checkpoint file
  answers = 6,     // to frames that the client pushed
  line = 7,        // of metrics.jsonl, as a strategy has them: the key "kind" of `json` names it
  result = 8,      // the last one of a job that succeeded; `attachment` is the model as ONNX, if the job made one
};

/// Returns the name that metrics.jsonl has for this kind: "progress", "event" and so on.
const char* report_kind_name(ReportKind kind);
/// Returns the kind of a number that came from another process; nullopt if this program does not know it.
std::optional<ReportKind> report_kind_of_number(std::int64_t number);

/// What a running job tells its client.
struct Report {
  ReportKind kind;
  std::string json;  // one object
  std::string attachment = {};
};

/// threads: called from one thread at a time.
using Reporter = std::function<void(Report)>;

}  // namespace mangrove
