#include "mangrove/sim/lie_check.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "mangrove/infer/strategy.h"
#include "mangrove/sim/lie.h"
#include "mangrove/train/compression/uplink_codec.h"
#include "mangrove/train/strategy_row.h"

namespace mangrove::sim {

namespace {

Error refuse(const std::string& why) {
  return make_error(Code::invalid_argument, "key 'lies': " + why);
}

/// Lies about answers.
Status check_inference(const infer::InferJob& job, bool is_modelled) {
  if (is_modelled) return refuse("with --compute modelled nothing is answered; use --compute real");
  MG_TRY(const infer::Strategy* strategy, infer::find_strategy(job.strategy()));
  if (strategy->networks != infer::Networks::one)
    return refuse("devices give wrong answers with one network only, not with strategy '" + job.strategy() +
                  "'; use pipeline");
  if (job.activations() != "float32")
    return refuse("devices lie in plain floats only; use activations float32, not '" + job.activations() + "'");
  return {};
}

}  // namespace

Status check_lies(const World& world, const cluster::JobSpec& job, bool is_modelled) {
  const auto lies = [](const Device& device) { return !device.lies.empty(); };
  if (std::ranges::none_of(world.devices, lies)) return {};
  const auto is_in_answers = [](const Device& device) { return find_lie(device.lies).value()->is_in_answers; };
  std::vector<Device> liars;
  std::ranges::copy_if(world.devices, std::back_inserter(liars), lies);
  const auto in_answers = std::ranges::count_if(liars, is_in_answers);
  if (job.has_train() && in_answers > 0) return refuse("wrong answers are for inference, and this job trains");
  if (!job.has_train() && in_answers < std::ssize(liars))
    return refuse("devices lie about updates in training, and this job has none; for inference use wrong_answers");
  if (!job.has_train()) return check_inference(job.infer(), is_modelled);
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
