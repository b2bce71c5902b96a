#include "mangrove/train/data_parallel/shared_samples.h"

#include <cmath>
#include <string>

#include "mangrove/train/data_parallel/data_split.h"
#include "mangrove/train/strategy_row.h"

namespace mangrove::train {
namespace {

constexpr std::uint64_t kStream = 0x5a3d;  // of random numbers

}  // namespace

Status check_shared_samples(const TrainJob& job) {
  const auto refuse = [](const std::string& why) {
    return make_error(Code::invalid_argument, "shared_samples: " + why);
  };
  if (job.shared_samples() == 0) return {};
  if (!strategy_of(job).takes_shared_samples)
    return refuse("is for strategy " + strategies_with(&Strategy::takes_shared_samples) + ", not for '" +
                  job.strategy() + "'");
  MG_TRY(const DataSplit split, parse_split(job.split()));
  if (split.kind == DataSplit::Kind::iid) return refuse("with split iid all samples are for all workers anyway");
  return {};
}

SharedSamples::SharedSamples(double share, std::int64_t all, std::size_t workers, std::uint64_t seed)
    : random_(Random(seed).fork(kStream)), shared_(random_.permutation(static_cast<std::uint32_t>(all))) {
  shared_.resize(static_cast<std::size_t>(std::llround(share * static_cast<double>(all))));
  per_own_ = static_cast<double>(shared_.size() * workers) / static_cast<double>(all);
}

SharedSamples::Samples SharedSamples::joined(const Samples& own, std::int64_t step, net::Rank rank) const {
  const auto more = static_cast<std::size_t>(std::llround(per_own_ * static_cast<double>(own.size())));
  if (shared_.empty()) return own;
  Random random = random_.fork(static_cast<std::uint64_t>(step)).fork(static_cast<std::uint64_t>(rank));
  std::size_t next = random.below(shared_.size());
  const std::size_t count = own.size() + more;
  Samples all;
  for (std::size_t i = 0, joined = 0; i < count; ++i) {
    if ((i + 1) * more / count > joined) {
      all.push_back(shared_[next++ % shared_.size()]);
      ++joined;
    } else {
      all.push_back(own[i - joined]);
    }
  }
  return all;
}

}  // namespace mangrove::train
