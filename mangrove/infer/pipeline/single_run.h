#pragma once

#include <memory>
#include <optional>

#include "mangrove/data/loader.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/job/role.h"
#include "mangrove/learn/replica.h"

namespace mangrove::infer {

/// One pass of the unsplit network over a data set, one micro-batch at a time, so that its node can take messages in
/// between.
/// threads: one at a time.
class SingleRun {
 public:
  /// replica: remains the caller's. with_scores: chunks also have the network's outputs.
  SingleRun(std::uint64_t request, learn::Replica& replica, std::shared_ptr<const data::Dataset> dataset,
            std::int64_t samples, const data::LoaderOptions& loading, const job::RoleContext& context,
            bool with_scores);

  /// Classifies the next micro-batch. Returns a chunk to send now and then, and at the end. errors: those of
  /// Loader::next.
  Result<std::optional<SingleChunk>> step();
  bool done() const { return done_ == samples_; }

 private:
  void request_next();

  learn::Replica& replica_;
  const std::int64_t samples_;
  const job::RoleContext& context_;
  const bool with_scores_;
  data::Loader loader_;
  std::int64_t requested_ = 0, done_ = 0;
  Instant start_, last_chunk_;
  SingleChunk chunk_;  // not sent yet
};

}  // namespace mangrove::infer
