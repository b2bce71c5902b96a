#pragma once

#include <string>

#include "mangrove/infer/report.h"
#include "mangrove/job/reports.h"

namespace mangrove::infer {

/// What the leader tells the client of inference.
/// threads: one at a time.
class Reports final : public job::Reports {
 public:
  using job::Reports::Reports;

  void stage_moved(std::size_t stage, net::Rank from, net::Rank to);
  /// phase: "single", which is done again because this rank was lost or silent.
  void redone(const char* phase, net::Rank rank);
  /// Sends answers to frames that a client pushed, in the order of the frames. A is a described struct.
  template <job::Described A>
  void answers(const A& answers) {
    send(ReportKind::answers, answers);
  }
  /// A described struct with InferResult in it, whose leave_out_answers() leaves out what says something of what was
  /// computed: it is called where only the time is of interest.
  template <job::Described R>
  void result(R result) {
    if (!computes()) result.leave_out_answers();
    send(ReportKind::result, result);
  }
};

/// Images a second; 0 where no time has passed.
double per_second(std::int64_t images, Seconds seconds);

}  // namespace mangrove::infer
