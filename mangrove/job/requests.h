#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/net/endpoint.h"

namespace mangrove::job {

/// What ranks have been asked and have not answered yet. Each question has a number of its own, which comes back with
/// the answer: a question that is asked again, of the same rank or another, has a new one, so that an answer to the old
/// one is known as such. A subject is what a question is about: a number of the caller's.
/// threads: one at a time.
class Requests {
 public:
  /// timeout: a rank is silent that leaves a question unanswered for so long, while it has none that is older. Others
  /// that it answers meanwhile do not count: ranks answer in order, or at once.
  explicit Requests(Seconds timeout) : timeout_(timeout) {}

  /// Returns the question's number, above 0.
  std::uint64_t add(net::Rank rank, std::uint64_t subject, Instant now);
  /// The subject of a question that this rank has not answered yet.
  std::optional<std::uint64_t> find(net::Rank rank, std::uint64_t request) const;
  /// A part of the answer has come, or all of it. REQUIRES: find() finds the question.
  void answer_in_part(net::Rank rank, std::uint64_t request, Instant now);
  void answer(net::Rank rank, std::uint64_t request, Instant now);

  bool is_asked(net::Rank rank) const { return ranks_.contains(rank) && !ranks_.at(rank).asked.empty(); }
  bool is_silent(net::Rank rank, Instant now) const { return now >= silent_from(rank); }
  /// When it becomes silent, unless it answers.
  Instant silent_from(net::Rank rank) const;
  /// Ranks that have something to answer, and the subjects of that in the order of the questions.
  net::RankSet asked() const;
  std::vector<std::uint64_t> subjects(net::Rank rank) const;

  /// Answers to these are of no use any more. Returns the subjects of what the rank has not answered.
  std::vector<std::uint64_t> forget_rank(net::Rank rank);
  void forget_subject(std::uint64_t subject);

 private:
  struct Asked {
    std::uint64_t subject;
    Instant at;
  };
  struct OfRank {
    std::map<std::uint64_t, Asked> asked;  // by number: the first is the oldest
    Instant heard;                         // the last answer to what was the oldest
  };
  const Seconds timeout_;
  std::map<net::Rank, OfRank> ranks_;
  std::uint64_t last_ = 0;
};

}  // namespace mangrove::job
