#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/mutex.h"
#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/serve/model.h"
#include "mangrove/serve/protocol/trace_context.h"

namespace mangrove::serve {

/// What is known of one request to a model when it is answered.
struct AccessEntry {
  const char* protocol = "rest";  // or "grpc"
  std::string model = {};
  std::string version = {};  // that answered, else that the request named; "": it named none
  std::string id = {};       // the client's own
  std::string client = {};   // what it has shown: the URI of its certificate, "user token", "admin token"; "": nothing
  std::string from = {};     // its address
  int status = 0;            // of REST; one of gRPC is written as that of REST which stands for the same
  std::optional<Seconds> queued = {}, computed = {};  // nothing: it has no answer of a model
  TraceContext trace = {};
};

/// Fills in what an answer tells.
void note_answer(AccessEntry& entry, const InferenceResponse& response);

/// Which requests came, and what became of them: a JSON object a line, in a file that its owner alone reads.
///
///     {"time": "2026-11-24T15:04:05.123Z", "protocol": "rest", "model": "digits", "version": "1", "id": "42",
///      "client": "mangrove://client/anna", "from": "10.0.0.7:51234", "status": 200, "queued_ms": 0.21,
///      "computed_ms": 1.52, "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736", "parent_id": "00f067aa0ba902b7"}
///
/// When the file would become longer than `most`, it becomes FILE.1, as an audit log does (see append_lines()). A
/// thread of its own writes, so that no request waits for a disk. Lines that it does not get rid of in time are
/// counted, and the log of the program says how many are missing.
/// threads: any thread may call any method.
class AccessLog {
 public:
  /// errors: those of append_lines(): the file cannot be written.
  static Result<std::unique_ptr<AccessLog>> open(fs::path file, Bytes most = kLongestAccessLog);
  /// Writes what is left.
  ~AccessLog();

  void write(AccessEntry entry);

  static constexpr Bytes kLongestAccessLog = MiB(64);

 private:
  struct Line {
    std::chrono::system_clock::time_point time;
    AccessEntry entry;
  };
  AccessLog(fs::path file, Bytes most);
  void write_lines(const std::stop_token& stop);
  void put(const std::vector<Line>& lines, std::uint64_t missing);

  const fs::path file_;
  const Bytes most_;
  bool has_failed_ = false;  // the last lines are not written; of the thread alone
  Mutex mutex_;
  Condition changed_;
  std::vector<Line> waiting_ MG_GUARDED_BY(mutex_);
  std::uint64_t missing_ MG_GUARDED_BY(mutex_) = 0;  // there was no room for them
  std::jthread writer_;                              // last: it uses all of the above
};

}  // namespace mangrove::serve
