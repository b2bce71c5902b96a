#include "mangrove/infer/pipeline/micro_batches.h"

#include <algorithm>

#include "mangrove/base/check.h"

namespace mangrove::infer {

MicroBatches::MicroBatches(std::int64_t samples, std::int64_t size, std::size_t window)
    : samples_(samples),
      size_(size),
      window_(window),
      answered_(static_cast<std::size_t>((samples + size - 1) / size)) {
  MG_CHECK(samples >= 0 && size >= 1 && window >= 1);
}

MicroBatches::Part MicroBatches::part(std::uint64_t id) const {
  const std::int64_t begin = static_cast<std::int64_t>(id) * size_;
  return {id, begin, std::min(size_, samples_ - begin)};
}

std::optional<MicroBatches::Part> MicroBatches::send_next(Instant now) {
  if (in_flight_.size() >= window_) return std::nullopt;
  std::optional<std::uint64_t> id = in_flight_.next_again();
  if (!id && next_ < answered_.size()) id = next_++;
  if (!id) return std::nullopt;
  in_flight_.sent(*id, now);
  return part(*id);
}

bool MicroBatches::answer(std::uint64_t id) {
  if (!exists(id) || answered_[id]) return false;
  answered_[id] = true;
  ++answers_;
  in_flight_.remove(id);
  return true;
}

void MicroBatches::redo(std::uint64_t id) {
  MG_CHECK(exists(id) && answered_[id]);
  answered_[id] = false;
  --answers_;
  in_flight_.send_again(id);
}

}  // namespace mangrove::infer
