#pragma once

#include <cstddef>
#include <cstdint>

#include "mangrove/net/endpoint.h"
#include "mangrove/train/messages.pb.h"

namespace mangrove::train {

/// Work that a worker was given, and what its answer has to be like.
struct Assignment {
  /// What the answer's body is: floats as they are, an update that the job's codecs decode (with states behind it or
  /// not), or something that the strategy decodes.
  enum class Encoding { none, update, update_and_states, left_to_caller };

  Assignment() = default;
  /// body_bytes: of the answer, once it is decoded.
  Assignment(net::Rank rank, const Work& work, std::size_t body_bytes, Encoding encoding);

  /// Whether an answer to this work has what it must have beside its body. classes: of the data.
  bool is_answered_by(const Answer& answer, int classes) const;
  /// Whether an answer is no answer yet, but tells how far the worker is.
  static bool is_progress(const Answer& answer) { return answer.done() > 0 || answer.fetched() > 0; }
  /// Takes such a one. Returns whether the worker has got on since the one before.
  bool take_progress(const Answer& answer);

  std::uint64_t round = 0;
  std::int64_t version = 0;  // of the values that came with it
  bool trains = false;
  std::size_t body_bytes = 0;
  Encoding encoding = Encoding::none;
  std::int64_t fetched = 0;  // bytes of data that came to the worker in all its work, as it has told so far

 private:
  std::int64_t samples_ = 0;  // that the answer has to count
  int predictions_ = 0;       // that the answer must hold
  int losses_ = 0;            // the same
  std::int64_t done_ = 0;     // samples, as the worker has told so far
};

}  // namespace mangrove::train
