#include "mangrove/train/pipeline/plan.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "mangrove/graph/cut.h"
#include "mangrove/plan/alike.h"
#include "mangrove/plan/profile.h"
#include "mangrove/plan/stage_load.h"
#include "mangrove/train/pipeline/schedule.h"
#include "mangrove/train/strategy_row.h"

namespace mangrove::train {
namespace {

constexpr double kPackedPerSecond = 1e9;  // bytes that a thread packs or unpacks while it has a processor
constexpr Bytes kFloat = sizeof(float);

template <class List>
auto sum_of(const List& list) {
  return std::accumulate(list.begin(), list.end(), typename List::value_type{});
}

double seconds_of(const StageProfile& profile) {
  return sum_of(profile.forward_s()) + sum_of(profile.backward_s());
}

/// The network as the planner sees it: a chain of parts, between the positions where it can be cut.
class Parts {
 public:
  Parts(const Graph& graph, std::span<const StageDevice> devices, std::int64_t samples) : graph_(graph) {
    begins_ = cut_positions(graph);
    begins_.insert(begins_.begin(), 0);
    network_.name = graph.name();
    network_.batch = samples;
    for (std::size_t i = 0; i < begins_.size(); ++i) add_layer(i, devices);
    add_parameters();
    add_flows(samples);
  }

  const plan::Layers& network() const { return network_; }
  std::size_t end(std::size_t part) const {
    return part + 1 < begins_.size() ? begins_[part + 1] : graph_.nodes().size();
  }
  StageRange range(const std::vector<std::size_t>& parts) const { return {begins_[parts.front()], end(parts.back())}; }
  template <class List>
  auto sum(std::size_t part, const List& of_operators) const {
    const auto begin = of_operators.begin();
    return std::accumulate(begin + static_cast<std::ptrdiff_t>(begins_[part]),
                           begin + static_cast<std::ptrdiff_t>(end(part)), typename List::value_type{});
  }

 private:
  /// With what it takes on the node where that is most.
  void add_layer(std::size_t part, std::span<const StageDevice> devices) {
    plan::Layer layer{graph_.nodes()[begins_[part]].name};
    for (const StageDevice& device : devices) {
      layer.activations = std::max<Bytes>(layer.activations, sum(part, device.profile.activations()));
      if (part == 0) layer.buffers = std::max<Bytes>(layer.buffers, device.profile.reading());
    }
    network_.layers.push_back(std::move(layer));
  }

  /// No part shares one with another.
  void add_parameters() {
    std::map<std::string, Bytes> left;
    for (const std::string& name : graph_.parameters()) left[name] = graph_.value(name).shape.elements() * kFloat;
    for (std::size_t part = 0; part < begins_.size(); ++part)
      for (std::size_t i = begins_[part]; i < end(part); ++i)
        for (const std::string& input : graph_.nodes()[i].inputs)
          if (const auto found = left.find(input); found != left.end())
            network_.layers[part].parameters += left.extract(found).mapped();
  }

  /// From part to part; besides, each behind the one before, so that it is cut at these positions only.
  void add_flows(std::int64_t samples) {
    struct Crossing {
      std::size_t from, to;
    };
    std::map<std::string, Crossing> crossings;
    for (std::size_t part = 1; part < begins_.size(); ++part)
      for (const std::string& name : values_at_cut(graph_, begins_[part]))
        crossings.try_emplace(name, Crossing{part - 1, part}).first->second.to = part;
    for (const auto& [name, crossing] : crossings)
      network_.flows.push_back(
          {crossing.from, {crossing.to}, false, elements_of(graph_.value(name), samples) * kFloat});
    for (std::size_t part = 1; part < begins_.size(); ++part) network_.flows.push_back({part - 1, {part}});
  }

  const Graph& graph_;
  std::vector<std::size_t> begins_;
  plan::Layers network_;
};

/// Bytes that it packs or unpacks in a second.
double packing_rate(const StageProfile& profile) {
  return kPackedPerSecond / std::max(1.0, profile.slowdown());
}

plan::Device planned_device(const Parts& parts, const StageDevice& device, bool recomputes) {
  plan::Device planned{
      .name = std::to_string(device.rank), .memory = device.profile.room(), .handling = packing_rate(device.profile)};
  for (std::size_t part = 0; part < parts.network().layers.size(); ++part)
    planned.seconds.push_back((recomputes ? 2 : 1) * parts.sum(part, device.profile.forward_s()) +
                              parts.sum(part, device.profile.backward_s()));
  return planned;
}

struct Planned {
  plan::Problem problem;
  plan::Plan plan;

  /// That a device of a stage takes for a micro-batch.
  Seconds seconds(const plan::Stage& stage, std::size_t device) const {
    constexpr Seconds kLeast = 1e-9;  // some operators cost nothing
    plan::StageLoad load{.received = stage.received, .sent = stage.sent};
    for (const std::size_t layer : stage.layers) load.seconds += problem.devices[device].seconds[layer];
    return std::max(kLeast, plan::busy_seconds(load, problem.devices[device], true));
  }
};

/// Of as many devices as are worth it; where these are too few, of the fewest that may be. Nothing: none fits.
Result<std::optional<Planned>> planned(plan::Problem problem, const plan::DeviceRange& range) {
  MG_TRY(std::optional<plan::Plan> plan, plan::find_plan(problem, {.least = 1, .most = range.most}));
  if (plan && plan->devices() < range.least) {
    MG_TRY(plan, plan::find_plan(problem, range));
  }
  if (!plan) return std::optional<Planned>();
  return std::optional(Planned{std::move(problem), std::move(*plan)});
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
      if (!output.empty()) made += elements_of(graph.value(output), samples) * kFloat;
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
          .packing = plan::crossings(true) * static_cast<double>(crossing * kFloat) / packing_rate(profile)};
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
  const Parts parts(graph, devices, wish.micro_batch);
  const auto attempt = [&](bool recomputes, bool is_limited) {
    plan::Problem problem{.network = parts.network(),
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
    return planned(std::move(problem), wish.devices);
  };
  using Recompute = Stage::Recompute;
  MG_TRY(std::optional<Planned> plan, attempt(wish.recompute == Recompute::always, true));
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
  for (const plan::Stage& stage : plan->plan.stages) {
    stages.push_back({parts.range(stage.layers), {}});
    for (const std::size_t device : stage.devices)
      stages.back().replicas.push_back({devices[device].rank, plan->seconds(stage, device)});
  }
  return stages;
}

}  // namespace mangrove::train
