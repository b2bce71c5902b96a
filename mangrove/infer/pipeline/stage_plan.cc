#include "mangrove/infer/pipeline/stage_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "mangrove/base/suggestion.h"
#include "mangrove/infer/pipeline/activation_codec.h"
#include "mangrove/infer/pipeline/memory_besides.h"
#include "mangrove/plan/alike.h"
#include "mangrove/plan/graph_layers.h"
#include "mangrove/plan/operator_memory.h"
#include "mangrove/plan/pipeline_cost.h"
#include "mangrove/plan/planner.h"
#include "mangrove/plan/stage_load.h"

namespace mangrove::infer {
namespace {

constexpr double kMessages = 2;  // of a stage for each micro-batch: what it gets and what it sends

class Planning {
 public:
  Planning(const Graph& graph, std::span<const DeviceProfile> devices, const InferJob& job)
      : graph_(graph), devices_(devices), job_(job) {}

  /// What does not depend on the devices.
  Status prepare() {
    stages_ = static_cast<std::size_t>(job_.stages());
    std::vector<std::size_t> layer = plan::fused_layers(graph_);
    if (job_.cuts_size() > 0) {
      MG_TRY(layer, stages_as_told(layer));
      stages_ = static_cast<std::size_t>(job_.cuts_size()) + 1;
    }
    layers_ = plan::layers_of(graph_, layer, job_.micro_batch(), false);
    set_layer_memory();
    for (plan::Flow& flow : layers_.network.flows) flow.bytes = encoded_bytes(job_.activations(), flow.bytes / 4);
    if (stages_ <= layers_.nodes.size()) return {};
    return make_error(Code::invalid_argument,
                      fmt::format("stages: {} stages cannot be cut from the {} layers of model '{}', which has {} "
                                  "operators; an activation function stays with the operator before it",
                                  stages_, layers_.nodes.size(), graph_.name(), graph_.nodes().size()));
  }

  Result<StagePlan> run() {
    MG_RETURN_IF_ERROR(prepare());
    for (const DeviceProfile& device : devices_)
      if (device.operator_seconds.size() != graph_.nodes().size())
        return make_error(Code::invalid_argument,
                          fmt::format("profile of {}: of {} operators, the model has {}", device.name,
                                      device.operator_seconds.size(), graph_.nodes().size()));
    return stages_ > 0 ? best({.least = stages_, .most = stages_}) : best_of_any();
  }

 private:
  /// The most that a device has measured of each layer.
  void set_layer_memory() {
    std::vector<plan::LayerMemory> most;
    for (const plan::Layer& layer : layers_.network.layers) most.push_back({layer.parameters, layer.activations});
    for (const DeviceProfile& device : devices_)
      if (device.operator_weights.size() == graph_.nodes().size()) most = plan::larger(most, measured_by(device));
    plan::set_memory(layers_.network, most);
  }

  std::vector<plan::LayerMemory> measured_by(const DeviceProfile& device) const {
    std::vector<plan::LayerMemory> all;
    for (const std::vector<std::size_t>& nodes : layers_.nodes) {
      plan::LayerMemory& layer = all.emplace_back();
      for (const std::size_t node : nodes) {
        layer.parameters += device.operator_weights[node];
        layer.activations = std::max(layer.activations, device.operator_memory[node]);
      }
    }
    return all;
  }

  /// The stage of each operator that the job's cuts make. layer: of each operator.
  Result<std::vector<std::size_t>> stages_as_told(const std::vector<std::size_t>& layer) const {
    const std::vector<Node>& nodes = graph_.nodes();
    std::map<std::string, std::size_t> layer_of;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      layer_of[nodes[i].name] = layer[i];
      names.push_back(nodes[i].name);
      for (const std::string& output : nodes[i].outputs) layer_of.try_emplace(output, layer[i]);
    }
    std::vector<std::size_t> stage(layer.size(), 0);
    std::size_t last = 0;
    for (const std::string& cut : job_.cuts()) {
      const auto found = layer_of.find(cut);
      if (found == layer_of.end())
        return make_error(Code::invalid_argument,
                          "cuts: the network has no operator '" + cut + "'" + suggestion(cut, names));
      if (found->second <= last) {
        const std::string& before = names[static_cast<std::size_t>(std::ranges::find(layer, last) - layer.begin())];
        return make_error(Code::invalid_argument,
                          fmt::format("cuts: '{}' begins no stage: it does not lie behind '{}'", cut, before));
      }
      last = found->second;
      for (std::size_t i = 0; i < layer.size(); ++i) stage[i] += layer[i] >= last ? 1 : 0;
    }
    return stage;
  }

  /// However many stages are worth it, and replicas of them. What the planner does not know of is that devices may
  /// share a machine's cores.
  Result<StagePlan> best_of_any() {
    MG_TRY(StagePlan plan, best({.least = 1, .most = devices_.size()}));
    if (plan.ranks().size() == 1) return plan;
    Result<StagePlan> single = best({.least = 1, .most = 1});
    if (!single.ok() && single.code() == Code::resource_exhausted) return plan;  // it fits none
    if (!single.ok() || single->period <= plan.period) return single;
    return plan;
  }

  Result<StagePlan> best(const plan::DeviceRange& range) {
    plan::Problem problem{.network = layers_.network, .devices = {}, .most_replicas = stages_ > 0 ? 1u : 0u};
    const std::size_t places = std::max(range.least, devices_.size());  // more stages than devices share these
    for (std::size_t i = 0; i < places; ++i) problem.devices.push_back(device(i, places));
    if (places > (range.least > 1 ? kMostUnlikeExactly : plan::kMostKinds)) plan::make_equal(problem.devices);
    MG_TRY(const plan::Plan plan, plan::make_plan(problem, range));
    return described(plan, places);
  }

  const DeviceProfile& profile_of(std::size_t place, std::size_t places) const {
    return devices_[place * devices_.size() / places];
  }

  plan::Device device(std::size_t place, std::size_t places) const {
    const DeviceProfile& profile = profile_of(place, places);
    plan::Device device{.name = profile.name,
                        .seconds = layers_.sums(profile.operator_seconds),
                        .memory = profile.memory,
                        .reserved = reserved(profile, places),
                        .rate = profile.rate,
                        .delay = profile.round_trip / 4};
    const bool beside = profile.reads_beside();
    if (!beside) device.seconds.front() += profile.read_seconds;
    if (!beside) device.overhead = kMessages * profile.message_seconds;
    device.handling = 1 / (1 / kCutBytesPerSecond + (beside ? 0 : profile.byte_seconds));
    return device;
  }

  /// Memory that the layers of a place cannot have: of the process without any, of samples and of a weight on its way
  /// here; where a device has several places, that of all but an equal part of the rest.
  Bytes reserved(const DeviceProfile& profile, std::size_t places) const {
    if (profile.memory == 0) return profile.needed;
    const Bytes taken = profile.needed + bytes_read(graph_, job_.micro_batch()) + largest_weight(graph_);
    Bytes of_device = 0;
    for (std::size_t i = 0; i < places; ++i) of_device += &profile_of(i, places) == &profile ? 1 : 0;
    return profile.memory - std::max<Bytes>(0, profile.memory - taken) / of_device;
  }

  StagePlan described(const plan::Plan& plan, std::size_t places) const {
    StagePlan made{{}, plan.period, plan.latency, 1, plan.limiting};
    for (const plan::Stage& part : plan.stages) {
      StagePlan::Stage stage{{}, {}, {}, part.sent / layers_.network.batch};
      for (std::size_t i = 0; i < part.devices.size(); ++i)
        stage.replicas.push_back({profile_of(part.devices[i], places).rank, part.busy_each[i]});
      for (const std::size_t layer : part.layers)
        stage.nodes.insert(stage.nodes.end(), layers_.nodes[layer].begin(), layers_.nodes[layer].end());
      std::ranges::sort(stage.nodes);
      for (const std::uint32_t node : stage.nodes) stage.operators.push_back(graph_.nodes()[node].name);
      made.stages.push_back(std::move(stage));
    }
    if (const Seconds shared = period_of_hosts(plan, made, places); shared > made.period) {
      made.period = shared;
      made.limited_by = "the cores that devices share";
    }
    set_memory(plan, places, made);
    const std::size_t holders = made.ranks().size();
    made.window = std::max(2 * holders + 2, plan.in_flight + holders);
    return made;
  }

  /// Of each process: what it is without a stage, and all stages that it holds.
  void set_memory(const plan::Plan& plan, std::size_t places, StagePlan& made) const {
    std::map<net::Rank, Bytes> memory;
    for (const plan::Stage& stage : plan.stages) {
      for (const std::size_t place : stage.devices) {
        const DeviceProfile& holder = profile_of(place, places);
        if (holder.process == 0) continue;
        Bytes& bytes = memory.emplace(holder.rank, holder.process).first->second;
        bytes += stage_memory(stage, holder, &stage == &plan.stages.front());
      }
    }
    for (StagePlan::Stage& stage : made.stages)
      for (StagePlan::Replica& replica : stage.replicas)
        if (const auto found = memory.find(replica.rank); found != memory.end()) replica.memory = found->second;
  }

  /// As much more as a process that holds the stage takes. The one that reads has samples at hand too.
  Bytes stage_memory(const plan::Stage& stage, const DeviceProfile& holder, bool reads) const {
    plan::StageLoad load{.received = stage.received, .sent = stage.sent};
    for (const std::size_t layer : stage.layers) {
      for (const std::size_t node : layers_.nodes[layer]) {
        load.parameters += holder.operator_weights[node];
        load.activations = std::max(load.activations, holder.operator_memory[node]);
      }
    }
    return (reads ? bytes_read(graph_, job_.micro_batch()) : 0) + plan::memory_use(load, {}, plan::Problem{});
  }

  /// With the cores of each machine shared by the stages on it, and the threads that read, send and receive beside
  /// them.
  Seconds period_of_hosts(const plan::Plan& plan, const StagePlan& made, std::size_t places) const {
    std::map<std::string, std::size_t> hosts;
    std::vector<double> cores;
    std::vector<plan::PipelineLoad> loads;
    int beside = -1;  // devices of their own, with negative numbers
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      const plan::Stage& stage = plan.stages[s];
      const Seconds period = made.stages[s].period();
      for (std::size_t r = 0; r < stage.devices.size(); ++r) {
        const DeviceProfile& holder = profile_of(stage.devices[r], places);
        const auto [host, is_new] = hosts.emplace(holder.host, cores.size());
        if (is_new) cores.push_back(holder.cores);
        loads.push_back({period, holder.rank, host->second, holder.threads});  // its share, as long as that takes it
        if (!holder.reads_beside()) continue;
        const Seconds busy = made.stages[s].replicas[r].busy;
        const double share = busy > 0 ? period / busy : 1;
        if (s == 0) loads.push_back({share * holder.read_seconds, beside--, host->second, 1});
        const auto bytes = static_cast<double>(stage.received + stage.sent);
        const Seconds messages = holder.byte_seconds * bytes + kMessages * holder.message_seconds;
        loads.push_back({share * messages, beside--, host->second, 1});
      }
    }
    return plan::predict_pipeline(loads, cores, 1).period;
  }

  const Graph& graph_;
  const std::span<const DeviceProfile> devices_;
  const InferJob& job_;
  plan::GraphLayers layers_;
  std::size_t stages_ = 0;  // 0: any number
};

}  // namespace

Seconds StagePlan::Stage::period() const {
  std::vector<Seconds> of_replicas;
  for (const Replica& replica : replicas) of_replicas.push_back(replica.busy);
  return plan::shared_period(of_replicas);
}

std::vector<std::vector<net::Rank>> StagePlan::holders() const {
  std::vector<std::vector<net::Rank>> all;
  for (const Stage& stage : stages) {
    std::vector<net::Rank>& holders = all.emplace_back();
    for (const Replica& replica : stage.replicas) holders.push_back(replica.rank);
  }
  return all;
}

std::vector<net::Rank> StagePlan::ranks() const {
  std::vector<net::Rank> all;
  for (const std::vector<net::Rank>& stage : holders()) all.insert(all.end(), stage.begin(), stage.end());
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

Status check_cut(const Graph& graph, const InferJob& job) {
  return Planning(graph, {}, job).prepare();
}

Result<StagePlan> plan_stages(const Graph& graph, std::span<const DeviceProfile> devices, const InferJob& job) {
  return Planning(graph, devices, job).run();
}

std::vector<StageOnNode> stage_places(const StagePlan& plan, const Reports& reports) {
  std::vector<StageOnNode> places;
  for (std::size_t s = 0; s < plan.stages.size(); ++s)
    for (const StagePlan::Replica& replica : plan.stages[s].replicas)
      places.push_back({s, reports.node(replica.rank), plan.stages[s].operators.size()});
  return places;
}

}  // namespace mangrove::infer
