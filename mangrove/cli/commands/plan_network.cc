#include "mangrove/cli/commands/plan_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "mangrove/base/file.h"
#include "mangrove/cli/sources/rewriting.h"
#include "mangrove/plan/device_file.h"
#include "mangrove/plan/operator_memory.h"
#include "mangrove/plan/operator_times.h"
#include "mangrove/plan/pipedream.h"

namespace mangrove::cli {
namespace {

/// Times and memory of the network on each device, from its own profile or the common one.
class Timing {
 public:
  Timing(PlanNetwork& network, const plan::GraphLayers& layers, bool training)
      : network_(network), graph_(*network.graph), layers_(layers), training_(training) {}

  Status add(plan::ListedDevice listed, const std::string& common) {
    const std::string& path = listed.profile.empty() ? common : listed.profile;
    if (path.empty())
      return make_error(Code::invalid_argument, "device '" + listed.device.name +
                                                    "' has no times: give --profile FILE, or its kind a key 'profile'");
    if (!times_.contains(path)) MG_RETURN_IF_ERROR(add_profile(path));
    std::vector<Seconds> seconds = times_[path].seconds;
    for (Seconds& each : seconds) each /= listed.speed;
    listed.device.seconds = layers_.sums(seconds);
    listed.device.reserved = process_[path];
    network_.problem.devices.push_back(std::move(listed.device));
    network_.operator_seconds.push_back(std::move(seconds));
    return {};
  }

  /// REQUIRES: a device was added.
  void finish() {
    plan::set_memory(network_.problem.network, memory_);
    for (const auto& [path, times] : times_)
      if (times.predicted > 0)
        network_.note +=
            fmt::format("{}: {} of {} operators are not in it; their times are predicted by its cost model\n", path,
                        times.predicted, graph_.nodes().size());
  }

 private:
  Status add_profile(const std::string& path) {
    MG_TRY(const plan::Profile profile, plan::load_profile(path));
    const std::int64_t batch = layers_.network.batch;
    MG_TRY(times_[path], plan::operator_times(graph_, batch, profile, training_).context(path));
    process_[path] = profile.process;
    const std::vector<plan::LayerMemory> memory = plan::layer_memory(graph_, layers_, profile, training_);
    memory_ = memory_.empty() ? memory : plan::larger(memory_, memory);
    const std::vector<Bytes> weights = plan::operator_weights(graph_, batch, profile);
    std::vector<Bytes>& largest = network_.operator_weights;
    largest.resize(weights.size());
    std::ranges::transform(largest, weights, largest.begin(), [](Bytes a, Bytes b) { return std::max(a, b); });
    return {};
  }

  PlanNetwork& network_;
  const Graph& graph_;
  const plan::GraphLayers& layers_;
  const bool training_;
  std::map<std::string, plan::OperatorTimes> times_;  // by profile
  std::map<std::string, Bytes> process_;
  std::vector<plan::LayerMemory> memory_;  // the largest on any device
};

Result<std::int64_t> batch_of(const PlanSource& source, const plan::DeviceFile& devices) {
  if (source.batch > 0) return source.batch;
  const std::string& path = source.profile.empty() ? devices.devices.front().profile : source.profile;
  if (path.empty()) return std::int64_t{1};  // an error soon
  MG_TRY(const plan::Profile profile, plan::load_profile(path));
  return profile.batch;
}

Result<PlanNetwork> time_model(const PlanSource& source, plan::DeviceFile file) {
  PlanNetwork network;
  MG_TRY(network.graph, open_model(source.model, source.settings));
  if (!source.train) {
    MG_TRY(network.graph, rewritten_for_inference(*network.graph, {}));
  }
  MG_TRY(const std::int64_t batch, batch_of(source, file));
  const plan::GraphLayers layers = plan::layers_of(*network.graph, batch, source.train);
  network.problem.network = layers.network;
  network.problem.ways = std::move(file.ways);
  Timing timing(network, layers, source.train);
  for (plan::ListedDevice& listed : file.devices) MG_RETURN_IF_ERROR(timing.add(std::move(listed), source.profile));
  timing.finish();
  return network;
}

Result<PlanNetwork> time_pipedream(const PlanSource& source, plan::DeviceFile file) {
  MG_TRY(plan::PipeDreamProfile profile, plan::load_pipedream(source.profile));
  if (source.batch > 1) profile.network.batch = source.batch;  // what the profile was measured at
  if (!source.train) plan::measure_living(profile.network);
  PlanNetwork network;
  network.problem.network = std::move(profile.network);
  network.problem.ways = std::move(file.ways);
  for (plan::ListedDevice& listed : file.devices) {
    if (!listed.profile.empty())
      return make_error(Code::invalid_argument, "device '" + listed.device.name +
                                                    "' has a key 'profile': with a profile of PipeDream's, give its "
                                                    "kind a 'speed' instead");
    for (std::size_t i = 0; i < profile.forward.size(); ++i)
      listed.device.seconds.push_back((profile.forward[i] + (source.train ? profile.backward[i] : 0)) / listed.speed);
    network.problem.devices.push_back(std::move(listed.device));
  }
  return network;
}

}  // namespace

bool PlanSource::is_pipedream() const {
  return fs::path(profile).extension() == ".txt";
}

plan::TileProblem PlanNetwork::tile_problem() const {
  std::vector<std::size_t> order(problem.devices.size());  // of the devices here, by their number there
  std::iota(order.begin(), order.end(), 0);
  const auto seconds_of = [&](std::size_t device) {
    return std::accumulate(operator_seconds[device].begin(), operator_seconds[device].end(), Seconds{0});
  };
  std::ranges::stable_sort(order, {}, seconds_of);
  plan::TileProblem tiles{
      .graph = *graph, .batch = problem.network.batch, .devices = {}, .objective = problem.objective};
  tiles.weights = operator_weights;
  for (const std::size_t device : order) {
    const plan::Device& of = problem.devices[device];
    tiles.devices.push_back({.name = of.name,
                             .seconds = operator_seconds[device],
                             .memory = of.memory,
                             .reserved = of.reserved,
                             .rate = of.rate,
                             .delay = of.delay,
                             .byte_seconds = of.handling > 0 ? 1 / of.handling : 0});
  }
  for (std::size_t a = 0; a < order.size(); ++a)
    for (std::size_t b = a + 1; b < order.size(); ++b)
      if (const auto way = problem.ways.find(std::minmax(order[a], order[b])); way != problem.ways.end())
        tiles.ways.emplace(std::pair(a, b), way->second);
  return tiles;
}

Result<PlanNetwork> load_plan_network(const PlanSource& source) {
  MG_TRY(plan::DeviceFile file, plan::load_devices(source.devices));
  return source.is_pipedream() ? time_pipedream(source, std::move(file)) : time_model(source, std::move(file));
}

}  // namespace mangrove::cli
