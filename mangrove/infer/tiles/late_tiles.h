#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "mangrove/base/clock.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/net/endpoint.h"

namespace mangrove::infer {

/// Finds out who holds up a micro-batch that is overdue. All ranks that have tiles are asked what they know of it.
///
/// A rank is suspected if it has all pieces of a tile and has not computed it, or if it does not answer the question
/// within a timeout while another rank does. It may only be slow, and a rank that computes answers late. So it is to
/// blame only if it is suspected kStrikes times, and no micro-batch has come back from its team meanwhile. If nobody is
/// suspected, a message was lost, and it is enough that the micro-batch is sent again.
/// No input or output: the caller sends the questions. threads: one at a time.
class LateTiles {
 public:
  static constexpr int kStrikes = 3;

  explicit LateTiles(Seconds timeout) : timeout_(timeout) {}

  /// A new placement: an open question is forgotten.
  void begin() { inquiry_.reset(); }
  /// The number of a question about a micro-batch to these ranks. Nothing: another question is still open.
  std::optional<std::uint64_t> ask(const net::RankSet& ranks, Instant now);
  void take(net::Rank rank, const TileStatus& status);
  /// A micro-batch has come back from a team of these ranks.
  void answered(const net::RankSet& team);

  struct Found {
    net::RankSet silent;        // ranks that are to blame, and did not answer the question
    net::RankSet late;          // ranks that are to blame, and have work to do
    bool has_suspects = false;  // some rank was suspected, and need not be to blame
  };
  /// What the question has shown. Nothing: there is none, or it is open.
  std::optional<Found> conclude(Instant now);
  /// When the open question ends, even if some ranks have not answered it by then.
  Deadline until() const { return inquiry_ ? inquiry_->until : Deadline::never(); }

 private:
  struct Inquiry {
    std::uint64_t request;
    std::set<net::Rank> asked;
    std::map<net::Rank, TileStatus> said;
    Instant until;
  };
  const Seconds timeout_;
  std::uint64_t last_request_ = 0;
  std::optional<Inquiry> inquiry_;
  std::map<net::Rank, int> strikes_;
};

}  // namespace mangrove::infer
