#include "mangrove/sim/lie_check.h"

#include <algorithm>
#include <string>

#include "mangrove/train/compression/uplink_codec.h"
#include "mangrove/train/strategy_row.h"

namespace mangrove::sim {

Status check_lies(const World& world, const cluster::JobSpec& job, bool is_modelled) {
  const auto lies = [](const Device& device) { return !device.lies.empty(); };
  if (std::ranges::none_of(world.devices, lies)) return {};
  const auto refuse = [](const std::string& why) { return make_error(Code::invalid_argument, "key 'lies': " + why); };
  if (!job.has_train()) return refuse("devices lie about updates in training, and this job has none");
  if (is_modelled) return refuse("with --compute modelled nothing is learnt; use --compute real");
  const train::Strategy& strategy = train::strategy_of(job.train());
  if (!strategy.collects_vectors) {
    return refuse("no updates of single devices are sent with strategy '" + job.train().strategy() + "'; use one of " +
                  train::strategies_with(&train::Strategy::collects_vectors));
  }
  if (!train::is_plain(job.train().codec()))
    return refuse("devices lie in plain floats only; use codec none, not '" + job.train().codec() + "'");
  if (job.train().secure_aggregation())
    return refuse("with secure_aggregation nobody sees the update that a device would forge; leave one of them out");
  return {};
}

}  // namespace mangrove::sim
