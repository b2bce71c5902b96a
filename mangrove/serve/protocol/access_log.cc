#include "mangrove/serve/protocol/access_log.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "mangrove/base/iso_time.h"
#include "mangrove/base/json_dump.h"
#include "mangrove/base/line_file.h"
#include "mangrove/base/log.h"
#include "mangrove/base/printable.h"

namespace mangrove::serve {
namespace {

constexpr std::size_t kLongestAccessField = 256;   // bytes
constexpr std::size_t kMostWaitingLines = 10'000;  // while the disk is slow
constexpr Seconds kLookForLinesEvery = 1;

/// "2026-11-24T15:04:05.123Z".
std::string precise_time(std::chrono::system_clock::time_point time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(time - seconds).count();
  std::string text = to_iso_text(seconds);
  std::string fraction = std::to_string(1000 + milliseconds);
  fraction.front() = '.';
  return text.insert(text.size() - 1, fraction);
}

nlohmann::ordered_json milliseconds_of(const std::optional<Seconds>& duration) {
  return duration ? nlohmann::ordered_json(*duration * 1e3) : nlohmann::ordered_json();
}

std::string access_line(std::chrono::system_clock::time_point time, const AccessEntry& entry) {
  return dump(nlohmann::ordered_json{{"time", precise_time(time)},
                                     {"protocol", entry.protocol},
                                     {"model", entry.model},
                                     {"version", entry.version},
                                     {"id", entry.id},
                                     {"client", entry.client},
                                     {"from", entry.from},
                                     {"status", entry.status},
                                     {"queued_ms", milliseconds_of(entry.queued)},
                                     {"computed_ms", milliseconds_of(entry.computed)},
                                     {"trace_id", entry.trace.trace_id},
                                     {"parent_id", entry.trace.parent_id}}) +
         "\n";
}

}  // namespace

void note_answer(AccessEntry& entry, const InferenceResponse& response) {
  entry.version = response.version;
  entry.queued = response.queued;
  entry.computed = response.computed;
}

Result<std::unique_ptr<AccessLog>> AccessLog::open(fs::path file, Bytes most) {
  MG_RETURN_IF_ERROR(append_lines(file, "", {.most = most}));
  return std::unique_ptr<AccessLog>(new AccessLog(std::move(file), most));
}

AccessLog::AccessLog(fs::path file, Bytes most)
    : file_(std::move(file)), most_(most), writer_([this](const std::stop_token& stop) { write_lines(stop); }) {}

AccessLog::~AccessLog() {
  writer_.request_stop();
  changed_.notify_all();
}

void AccessLog::write(AccessEntry entry) {
  for (std::string* const sent : {&entry.model, &entry.version, &entry.id})  // by a client, who may send megabytes
    *sent = cut_short(*sent, kLongestAccessField);
  const MutexLock lock(mutex_);
  if (waiting_.size() >= kMostWaitingLines) {
    ++missing_;
    return;
  }
  waiting_.push_back({std::chrono::system_clock::now(), std::move(entry)});
  changed_.notify_one();
}

void AccessLog::write_lines(const std::stop_token& stop) {
  for (bool is_last = false; !is_last;) {
    std::vector<Line> lines;
    std::uint64_t missing = 0;
    {
      const MutexLock lock(mutex_);
      while (waiting_.empty() && !stop.stop_requested()) changed_.wait_for(mutex_, kLookForLinesEvery);
      is_last = stop.stop_requested();
      lines.swap(waiting_);
      missing = std::exchange(missing_, 0);
    }
    put(lines, missing);
  }
}

void AccessLog::put(const std::vector<Line>& lines, std::uint64_t missing) {
  std::string text;
  for (const Line& line : lines) text += access_line(line.time, line.entry);
  const Status written = text.empty() ? Status() : append_lines(file_, text, {.most = most_});
  if (!written.ok() && !has_failed_) log_error("access log not written", {{"message", written.error().message}});
  has_failed_ = !written.ok();
  if (missing > 0) log_warn("access log misses lines", {{"file", file_.string()}, {"lines", missing}});
}

}  // namespace mangrove::serve
