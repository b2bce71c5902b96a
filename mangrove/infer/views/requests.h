#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/net/endpoint.h"

namespace mangrove::infer {

/// What nodes have been asked about micro-batches and have not answered yet, each question by a number.
/// threads: one at a time.
class ViewRequests {
 public:
  /// timeout: a node is silent that leaves a question unanswered for longer, while it has none that is older. Others
  /// that it answers meanwhile do not count: nodes answer in order, or at once.
  explicit ViewRequests(Seconds timeout) : timeout_(timeout) {}

  /// Returns the question's number, above 0.
  std::uint64_t add(net::Rank rank, std::uint64_t batch, Instant now);
  /// The micro-batch of a question that this node has not answered yet.
  std::optional<std::uint64_t> find(net::Rank rank, std::uint64_t request) const;
  /// REQUIRES: find() finds it.
  void answer(net::Rank rank, std::uint64_t request, Instant now);

  bool is_silent(net::Rank rank, Instant now) const;
  /// Micro-batches of what it has not answered yet, in the order of the questions.
  std::vector<std::uint64_t> of_node(net::Rank rank) const;

  /// Answers to these are of no use any more.
  void forget_node(net::Rank rank) { nodes_.erase(rank); }
  void forget_batch(std::uint64_t batch);

 private:
  struct Asked {
    std::uint64_t batch;
    Instant at;
  };
  struct Node {
    std::map<std::uint64_t, Asked> asked;  // by number: the first is the oldest
    Instant heard;                         // the last answer to what was the oldest
  };
  const Seconds timeout_;
  std::map<net::Rank, Node> nodes_;
  std::uint64_t last_ = 0;
};

}  // namespace mangrove::infer
