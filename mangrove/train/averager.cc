#include "mangrove/train/averager.h"

#include <algorithm>
#include <vector>

#include "mangrove/net/payload.h"

namespace mangrove::train {
namespace {

constexpr std::uint32_t kStream = 0;

}  // namespace

bool Averager::accepts(const Averaging& averaging) const {
  const auto is_other_worker = [&](net::Rank rank) {
    return rank >= 1 && rank < context_.endpoint.size() && rank != context_.endpoint.rank();
  };
  const auto is_weight = [](float weight) { return weight > 0 && weight < 1; };
  return averaging.ranks_size() == averaging.weights_size() &&
         std::all_of(averaging.ranks().begin(), averaging.ranks().end(), is_other_worker) &&
         std::all_of(averaging.weights().begin(), averaging.weights().end(), is_weight);
}

/// False: the neighbour's values have not come.
Result<bool> Averager::receive(net::Rank from, std::span<float> into, Deadline deadline) {
  while (true) {
    if (const auto part = parts_.take(from, kStream)) {
      if (net::read_floats(part->body(), into).ok()) return true;
      parts_.refuse(from, kStream);
    }
    MG_TRY(const bool came, parts_.wait({from}, deadline));
    if (!came) return false;
  }
}

Result<bool> Averager::average(const Averaging& averaging, std::span<float> values) {
  const net::RankSet neighbours(averaging.ranks().begin(), averaging.ranks().end());
  parts_.begin(averaging.id(), neighbours);
  for (const net::Rank rank : neighbours) parts_.send(rank, kStream, values);
  const Deadline deadline = context_.clock.after(patience_);
  std::vector<float> mean(values.begin(), values.end()), received(values.size());
  for (std::size_t n = 0; n < neighbours.size(); ++n) {
    const Result<bool> there = receive(neighbours[n], received, deadline);
    if (interruption_) return false;
    if (!there.ok() && there.code() == Code::cancelled) return there.error();
    if (!there.ok() || !*there) continue;  // lost or silent: its weight is this worker's
    const float weight = averaging.weights(static_cast<int>(n));
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += weight * (received[i] - values[i]);
  }
  std::copy(mean.begin(), mean.end(), values.begin());
  return true;
}

}  // namespace mangrove::train
