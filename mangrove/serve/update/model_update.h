#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/units.h"
#include "mangrove/serve/update/trial_rule.h"

namespace mangrove::serve {

/// How a model changes to a new network.
struct UpdateOptions {
  std::optional<TrialRule> trial = {};  // nothing: the new version gets all requests as soon as it is ready
  std::string owner = {};               // who begins it, as AccessRules::who() says
};

// What a server says of its models is described once: the server writes it, and the command line reads it.

/// How far the last update of a model is.
struct UpdateStatus {
  static constexpr const char* kLoading = "loading";
  static constexpr const char* kTrial = "trial";
  static constexpr const char* kSwitched = "switched";
  static constexpr const char* kRefused = "refused";     // it could not be loaded
  static constexpr const char* kWentBack = "went_back";  // the trial, or the end of the server

  std::string state;                 // one of these
  std::string version;               // the new one
  std::string before;                // the one before
  std::string reason;                // a sentence: why it has switched or not; "": it goes on
  double share = 0;                  // of the requests that the new version gets
  TrialRecord old = {}, fresh = {};  // what became of them in the trial; without latencies

  bool is_over() const { return state != kLoading && state != kTrial; }
  bool has_switched() const { return state == kSwitched; }

  static void fields(auto& self, auto& field) {
    field("state", self.state);
    field("version", self.version);
    field("before", self.before);
    field("reason", self.reason);
    field("share", self.share);
    field("old", self.old);
    field("new", self.fresh);
  }
};

/// The answer to whoever begins an update.
struct UpdateBegun {
  std::string name;     // of the model
  std::string version;  // the new one; no other update of the model has it while the server runs

  static void fields(auto& self, auto& field) {
    field("name", self.name);
    field("version", self.version);
  }
};

/// A version of a model that is loaded, or was to be.
struct VersionStatus {
  std::string version, state, reason;  // as the index of the repository has them
  double share = 0;                    // of the requests that name no version
  std::uint64_t answered = 0, failed = 0;
  std::int64_t waiting = 0;  // requests in its queue
  Seconds p50 = 0, p99 = 0;  // latency since it was loaded, within 10 %
  std::string began = {};    // when its loading began: "2026-11-24T15:04:05Z"
  std::string owner = {};    // who began it: URI of a certificate, "admin token"; "": the start of a server without one

  static void fields(auto& self, auto& field) {
    field("version", self.version);
    field("state", self.state);
    field("reason", self.reason);
    field("share", self.share);
    field("answered", self.answered);
    field("failed", self.failed);
    field("waiting", self.waiting);
    field("p50_s", self.p50);
    field("p99_s", self.p99);
    field("began", self.began);
    field("owner", self.owner);
  }
};

/// What an operator wants to know of a model.
struct ServiceStatus {
  std::string name;
  std::vector<VersionStatus> versions;  // those that are there now
  std::optional<UpdateStatus> update;   // the last one

  static void fields(auto& self, auto& field) {
    field("name", self.name);
    field("versions", self.versions);
    field("update", self.update);
  }
};

}  // namespace mangrove::serve
