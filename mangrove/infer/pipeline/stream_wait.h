#pragma once

#include <cstdint>
#include <functional>
#include <set>

#include "mangrove/base/clock.h"
#include "mangrove/infer/node_roster.h"
#include "mangrove/infer/reports.h"

namespace mangrove::infer {

/// How long the leader of a stream waits for nodes that have a part of the network.
/// threads: one at a time.
class StreamWait {
 public:
  static constexpr double kPatience = 10;  // timeouts without any sign of life before the job fails

  StreamWait(const job::RoleContext& context, NodeRoster& nodes, const Reports& reports, Seconds timeout)
      : context_(context), nodes_(nodes), reports_(reports), timeout_(timeout) {}

  /// Waits until all of these ranks are ready with their part of a placement. send: sends the placement to some of
  /// them, once more where it or the answer was lost. Ranks that are not ready for kPatience timeouts, while others
  /// are, are left out. False: one of the ranks was lost or left out meanwhile. errors: those of NodeRoster::next and
  /// check().
  Result<bool> until_ready(std::uint64_t generation, const std::set<net::Rank>& all,
                           const std::function<void(const net::RankSet&)>& send);

  /// what: has not happened since then. by: the ranks that something is waited for from.
  /// errors: unavailable (kPatience timeouts have passed; names the ranks).
  Status check(const char* what, const std::set<net::Rank>& by, Instant since) const;

 private:
  bool leave_out_unready(const std::set<net::Rank>& missing, std::size_t all, Instant since);

  const job::RoleContext& context_;
  NodeRoster& nodes_;
  const Reports& reports_;
  const Seconds timeout_;
};

}  // namespace mangrove::infer
