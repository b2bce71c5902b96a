#include "mangrove/train/pipeline/plan.h"

#include <algorithm>
#include <numeric>

#include "mangrove/graph/cut.h"
#include "mangrove/plan/alike.h"
#include "mangrove/plan/graph_layers.h"
#include "mangrove/plan/profile.h"
#include "mangrove/plan/stage_load.h"
#include "mangrove/train/pipeline/schedule.h"
#include "mangrove/train/strategy_row.h"

namespace mangrove::train {
namespace {

constexpr double kPackedPerSecond = 1e9;  // bytes that a thread packs or unpacks while it has a processor
constexpr Seconds kLeast = 1e-9;          // of a replica for a micro-batch: some operators cost nothing

template <class List>
auto sum_of(const List& list) {
  return std::accumulate(list.begin(), list.end(), typename List::value_type{});
}

double seconds_of(const StageProfile& profile) {
  return sum_of(profile.forward_s()) + sum_of(profile.backward_s());
}

/// The network as the planner sees it: a chain of parts, between the positions where it can be cut.
plan::GraphLayers parts_of(const Graph& graph, std::int64_t samples) {
  std::vector<std::size_t> part(graph.nodes().size(), 0);
  for (const std::size_t position : cut_positions(graph))
    for (std::size_t i = position; i < part.size(); ++i) ++part[i];
  plan::GraphLayers parts = plan::layers_of(graph, part, samples, true);
  for (std::size_t i = 1; i < parts.nodes.size(); ++i)
    parts.network.flows.push_back({i - 1, {i}});  // each behind the one before: it is cut at these positions only
  return parts;
}

/// What a stage with a part holds for it on the node where that is most.
void set_memory(std::span<const StageDevice> devices, plan::GraphLayers& parts) {
  std::vector<plan::Layer>& layers = parts.network.layers;
  for (plan::Layer& layer : layers) layer.activations = 0;
  for (const StageDevice& device : devices) {
    const std::vector<Bytes> activations = parts.sums(device.profile.activations());
    for (std::size_t i = 0; i < layers.size(); ++i)
      layers[i].activations = std::max(layers[i].activations, activations[i]);
    layers.front().buffers = std::max<Bytes>(layers.front().buffers, device.profile.reading());
  }
}

StageRange range_of(const plan::GraphLayers& parts, const plan::Stage& stage) {
  return {parts.nodes[stage.layers.front()].front(), parts.nodes[stage.layers.back()].back() + 1};
}

/// Bytes that it packs or unpacks in a second.
double packing_rate(const StageProfile& profile) {
  return kPackedPerSecond / std::max(1.0, profile.slowdown());
}

plan::Device planned_device(const plan::GraphLayers& parts, const StageDevice& device, bool recomputes) {
  plan::Device planned{.name = std::to_string(device.rank),
                       .seconds = parts.sums(device.profile.forward_s()),
                       .memory = device.profile.room(),
                       .handling = packing_rate(device.profile)};
  const std::vector<Seconds> backward = parts.sums(device.profile.backward_s());
  for (std::size_t i = 0; i < backward.size(); ++i)
    planned.seconds[i] = (recomputes ? 2 : 1) * planned.seconds[i] + backward[i];
  return planned;
}

/// Of as many devices as are worth it; where these are too few, of the fewest that may be. Nothing: none fits.
Result<std::optional<plan::Plan>> planned(const plan::Problem& problem, const plan::DeviceRange& range) {
  MG_TRY(std::optional<plan::Plan> plan, plan::find_plan(problem, {.least = 1, .most = range.most}));
  if (plan && plan->devices() < range.least) return plan::find_plan(problem, range);
  return plan;
}

}  // namespace

StageProfile computed_profile(const Graph& graph, std::int64_t samples) {
  StageProfile profile;
  for (const double cost : computed_costs(graph, samples)) {
    profile.add_forward_s(cost / 3);
    profile.add_backward_s(cost * 2 / 3);
  }
  for (const Node& node : graph.nodes()) {
    Bytes made = 0;
    for (const std::string& output : node.outputs)
      if (!output.empty()) made += elements_of(graph.value(output), samples) * kFloatBytes;
    profile.add_activations(made);
  }
  return profile;
}

bool is_profile_of(const StageProfile& profile, const Graph& graph) {
  const auto operators = static_cast<int>(graph.nodes().size());
  return profile.forward_s_size() == operators && profile.backward_s_size() == operators &&
         profile.activations_size() == operators && std::ranges::all_of(profile.forward_s(), plan::is_measurement) &&
         std::ranges::all_of(profile.backward_s(), plan::is_measurement) &&
         std::ranges::all_of(profile.activations(), plan::is_size) && plan::is_measurement(10 * seconds_of(profile)) &&
         plan::is_size(sum_of(profile.activations())) && plan::is_size(profile.room()) &&
         plan::is_size(profile.reading()) && plan::is_measurement(profile.slowdown());
}

StageSeconds stage_seconds(const Graph& graph, const StageRange& range, const StageProfile& profile,
                           std::int64_t micro_batch) {
  const auto sum = [&](const auto& of_operators) {
    const auto begin = of_operators.begin() + static_cast<std::ptrdiff_t>(range.first);
    return std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(range.last - range.first), Seconds{0});
  };
  std::int64_t crossing = 0;  // elements; samples do not come in a message
  for (const std::size_t cut : {range.first, range.last})
    if (cut > 0 && cut < graph.nodes().size()) crossing += elements_at_cut(graph, cut, micro_batch);
  return {.forward = sum(profile.forward_s()),
          .backward = sum(profile.backward_s()),
          .packing = plan::crossings(true) * static_cast<double>(crossing * kFloatBytes) / packing_rate(profile)};
}

bool is_as_good(const StageProfile& profile, const StageProfile& other) {
  const auto room = [](const StageProfile& one) { return static_cast<double>(one.room()); };
  const bool has_room = profile.room() == 0 || (other.room() > 0 && (1 + kAlike) * room(profile) >= room(other));
  return has_room && seconds_of(profile) <= (1 + kAlike) * seconds_of(other);
}

plan::TrainingSchedule planned_schedule(const TrainJob& job, std::int64_t micro_batch, std::size_t nodes,
                                        std::size_t slots) {
  const auto arrays = static_cast<double>(1 + slots);  // and as many on their way to the leader, twice
  const auto behind = static_cast<std::int64_t>(nodes) - 1;
  const std::int64_t micro_batches = (job.batch() + micro_batch - 1) / micro_batch;
  const PipelineSchedule& schedule = *strategy_of(job).pipeline;
  const std::int64_t most_in_flight = schedule.holds_all ? micro_batches : 1 + behind * (1 + job.ahead());
  const double sums = job.replicas() == 1 ? 0 : arrays;  // see StageBudget
  return {.copies = 1 + sums + 3 * arrays + static_cast<double>(schedule.is_stashing ? most_in_flight : 0),
          .messages = 2 * static_cast<double>(most_in_flight + 1),
          .ahead = job.ahead(),
          .at_once = schedule.holds_all ? micro_batches : 0,
          .per_update = micro_batches};
}

Result<std::vector<PlannedStage>> plan_pipeline(const Graph& graph, std::span<const StageDevice> devices,
                                                const PipelineWish& wish) {
  plan::GraphLayers parts = parts_of(graph, wish.micro_batch);
  set_memory(devices, parts);
  const auto attempt = [&](bool recomputes, bool is_limited) {
    plan::Problem problem{.network = parts.network,
                          .devices = {},
                          .training = true,
                          .schedule = wish.schedule,
                          .most_replicas = wish.most_replicas};
    problem.schedule.recomputes = recomputes;
    for (const StageDevice& device : devices) {
      problem.devices.push_back(planned_device(parts, device, recomputes));
      if (!is_limited) problem.devices.back().memory = 0;
    }
    plan::make_alike(problem.devices, kAlike);
    return planned(problem, wish.devices);
  };
  using Recompute = Stage::Recompute;
  MG_TRY(std::optional<plan::Plan> plan, attempt(wish.recompute == Recompute::always, true));
  if (!plan && wish.recompute == Recompute::where_needed) {
    MG_TRY(plan, attempt(true, true));
  }
  if (!plan && !wish.must_fit) {
    MG_TRY(plan, attempt(wish.recompute == Recompute::always, false));
  }
  if (!plan)
    return make_error(Code::invalid_argument, "graph '" + graph.name() + "' cannot be cut into stages for " +
                                                  std::to_string(wish.devices.least) + " nodes");
  std::vector<PlannedStage> stages;
  for (const plan::Stage& stage : plan->stages) {
    stages.push_back({range_of(parts, stage), {}});
    for (std::size_t i = 0; i < stage.devices.size(); ++i)
      stages.back().replicas.push_back({devices[stage.devices[i]].rank, std::max(kLeast, stage.busy_each[i])});
  }
  return stages;
}

}  // namespace mangrove::train
