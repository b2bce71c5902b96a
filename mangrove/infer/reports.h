#pragma once

#include <string>

#include "mangrove/infer/report.h"
#include "mangrove/job/reports.h"

namespace mangrove::infer {

/// The messages of the leader of inference to the client.
/// threads: one at a time.
class Reports final : public job::Reports {
 public:
  using job::Reports::Reports;

  void stage_moved(std::size_t stage, net::Rank from, net::Rank to);
  /// phase: "single", for example. The phase is done again because this rank was lost or silent.
  void redone(const char* phase, net::Rank rank);
  /// Sends answers to frames that a client pushed, in the order of the frames. A: a described struct. scores: of frames
  /// of values, those of all classes for each frame that was classified, f32; else "".
  template <job::Described A>
  void answers(const A& answers, std::string scores) {
    send(ReportKind::answers, answers, std::move(scores));
  }
  /// R: a described struct that contains an InferResult. If only the time is of interest, its leave_out_answers()
  /// removes the figures that depend on computed values.
  template <job::Described R>
  void result(R result) {
    if (!computes()) result.leave_out_answers();
    send(ReportKind::result, result);
  }
};

/// Images a second; 0 if no time has passed.
double per_second(std::int64_t images, Seconds seconds);

}  // namespace mangrove::infer
