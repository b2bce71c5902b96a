#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/mutex.h"
#include "mangrove/base/random.h"
#include "mangrove/serve/model.h"
#include "mangrove/serve/model_leases.h"
#include "mangrove/serve/update/trial_rule.h"

namespace mangrove::serve {

/// A new version of a model beside the old one: it gets a share of the requests, and what becomes of them is compared.
///
/// A request that the new version does not answer, or whose answer has numbers that are none, goes to the old version,
/// and the client gets that answer. It does not where its deadline has passed, or where the two versions want their
/// images prepared in different ways.
/// threads: any thread may call any method.
class VersionTrial : public std::enable_shared_from_this<VersionTrial> {
 public:
  VersionTrial(std::shared_ptr<Model> old, std::shared_ptr<Model> fresh, const TrialRule& rule);

  /// The version for the next request, to be held for one request, not longer. Both count what they are asked.
  std::shared_ptr<Model> choose();
  /// Waits for the verdict. The old version stays where stop is requested, or where too few requests come in time.
  TrialVerdict wait(const std::stop_token& stop);
  /// Waits until nobody holds a version and all requests are answered, but no longer than this. Whether that is so.
  bool wait_for_none(Seconds at_most) { return leases_->wait_for_none(at_most); }

  struct Counts {
    TrialRecord old, fresh;  // without latencies
  };
  Counts counts() const;

 private:
  class Arm;
  void ask(bool is_fresh, InferenceRequest request, AnswerSink answer);
  void record(bool is_fresh, bool has_failed, Seconds took);

  const std::shared_ptr<Model> old_, fresh_;
  const TrialRule rule_;
  const bool can_repeat_;
  const std::shared_ptr<ModelLeases> leases_ = std::make_shared<ModelLeases>();
  const SteadyClock clock_;
  mutable Mutex mutex_;
  Condition changed_;
  Random random_ MG_GUARDED_BY(mutex_);
  TrialRecord old_record_ MG_GUARDED_BY(mutex_), fresh_record_ MG_GUARDED_BY(mutex_);
  std::size_t next_old_latency_ MG_GUARDED_BY(mutex_) = 0;
  std::optional<TrialVerdict> verdict_ MG_GUARDED_BY(mutex_);
};

}  // namespace mangrove::serve
