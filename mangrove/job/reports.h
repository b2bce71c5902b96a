#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

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

/// What rank 0 of a job tells the client, as JSON; docs/json.md lists the keys. A kind of job derives from it.
/// threads: one at a time.
class Reports {
 public:
  explicit Reports(RoleContext& context) : context_(context) {}

  /// How far a phase of the job is: samples done, of so many.
  void progress(const char* phase, std::int64_t done, std::int64_t total, double images_per_s);
  /// The name of the rank's node.
  std::string node(net::Rank rank) const;

 protected:
  using Json = nlohmann::ordered_json;
  ~Reports() = default;

  /// more: further keys.
  void progress(const char* phase, std::int64_t done, std::int64_t total, double images_per_s, const Json& more);
  /// Something a person wants to know of.
  void event(const char* name, const Json& facts);
  void send(const char* kind, const Json& json, std::string attachment = {});

 private:
  RoleContext& context_;
};

}  // namespace mangrove::job
