#pragma once

#include <cstddef>
#include <cstdint>

#include "mangrove/net/endpoint.h"
#include "mangrove/train/messages.pb.h"

namespace mangrove::train {

/// The work that a worker was given, and what its answer must contain.
struct Assignment {
  /// The form of the answer's body. none: plain floats. update: an update that the job's codecs decode.
  /// update_and_states: such an update, and the states behind it. left_to_caller: the strategy decodes it.
  enum class Encoding { none, update, update_and_states, left_to_caller };

  Assignment() = default;
  /// body_bytes: the length of the answer's body after decoding.
  Assignment(net::Rank rank, const Work& work, std::size_t body_bytes, Encoding encoding);

  /// Whether the answer has everything that it must have beside its body. classes: the number of classes of the data.
  bool is_answered_by(const Answer& answer, int classes) const;
  /// Whether this message is only a progress report: it says how far the worker is, and is not the answer itself.
  static bool is_progress(const Answer& answer) { return answer.done() > 0 || answer.fetched() > 0; }
  /// Takes a progress report. Returns whether the worker has advanced since the report before.
  bool take_progress(const Answer& answer);

  std::uint64_t round = 0;
  std::int64_t version = 0;  // the version of the values that came with the work
  bool trains = false;       // it is traffic of training
  std::size_t body_bytes = 0;
  Encoding encoding = Encoding::none;
  std::int64_t fetched = 0;  // bytes of training data that the worker has reported as received, in all its work

 private:
  std::int64_t samples_ = 0;  // samples that the answer must count
  int predictions_ = 0;       // predictions that the answer must hold
  int losses_ = 0;            // losses that the answer must hold
  std::int64_t done_ = 0;     // samples that the worker has reported as done
};

}  // namespace mangrove::train
