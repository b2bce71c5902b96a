#pragma once

#include <string>
#include <utility>

#include "mangrove/job/event.h"
#include "mangrove/job/json_fields.h"
#include "mangrove/job/progress.h"
#include "mangrove/job/role.h"

namespace mangrove::job {

/// How often somebody who watches is told how far a job is.
class Throttle {
 public:
  /// began: the first time is an interval later. Without it, it is at once.
  Throttle() = default;
  explicit Throttle(Instant began) : last_(began) {}

  /// Whether it is time to tell, and then counts as told. is_over: it is, whenever the last time was.
  bool passes(Instant now, bool is_over) {
    if (!is_over && now - last_ < kInterval) return false;
    last_ = now;
    return true;
  }

 private:
  static constexpr Seconds kInterval = 0.2;
  Instant last_{-kInterval};
};

/// What rank 0 of a job tells the client; docs/json.md lists the keys. A kind of job derives from it.
/// threads: one at a time.
class Reports {
 public:
  explicit Reports(RoleContext& context) : context_(context) {}

  /// How far a phase of the job is: samples done, of so many.
  void progress(const char* phase, std::int64_t done, std::int64_t total, double images_per_s);
  /// The same with all that is known of it, but for the time that is left.
  void progress(Progress progress);
  /// Something a person wants to know of (event.h).
  template <Event E>
  void event(const E& event) {
    tell(event_report(event));
  }
  /// A line of metrics.jsonl that a strategy has of its own: a described struct (json_fields.h), whose kLine names it.
  template <Described L>
  void line(const L& line) {
    Json json = {{"kind", L::kLine}};
    add_fields(line, json);
    tell({ReportKind::line, dump(json)});
  }
  /// The name of the rank's node.
  std::string node(net::Rank rank) const;

 protected:
  ~Reports() = default;

  /// Whether what the device computes means something (see Device::computes).
  bool computes() const { return context_.device.computes(); }

  template <class T>
  void send(ReportKind kind, const T& payload, std::string attachment = {}) {
    tell({kind, dump(json_of(payload)), std::move(attachment)});
  }

 private:
  void tell(Report report);

  RoleContext& context_;
};

}  // namespace mangrove::job
