#include "mangrove/plan/plan.h"

#include <fmt/format.h>

#include <cmath>

#include "mangrove/plan/stage_load.h"

namespace mangrove::plan {
namespace {

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

/// The stage of each layer. errors: invalid_argument.
Result<std::vector<std::size_t>> stages_of_layers(const Problem& problem, const std::vector<Part>& parts) {
  const Layers& network = problem.network;
  std::vector<std::size_t> stages(network.layers.size(), kNowhere);
  std::vector<bool> is_used(problem.devices.size(), false);
  for (std::size_t s = 0; s < parts.size(); ++s) {
    for (const std::size_t layer : parts[s].layers) {
      if (layer >= stages.size() || stages[layer] != kNowhere)
        return make_error(Code::invalid_argument, fmt::format("plan: layer {} is not there, or in two stages", layer));
      stages[layer] = s;
    }
    if (parts[s].layers.empty() || parts[s].devices.empty())
      return make_error(Code::invalid_argument, fmt::format("plan: stage {} has no layer or no device", s + 1));
    for (const std::size_t device : parts[s].devices) {
      if (device >= is_used.size() || is_used[device])
        return make_error(Code::invalid_argument, fmt::format("plan: device {} is not there, or used twice", device));
      is_used[device] = true;
    }
  }
  for (std::size_t i = 0; i < stages.size(); ++i)
    if (stages[i] == kNowhere)
      return make_error(Code::invalid_argument, "plan: layer '" + network.layers[i].name + "' is in no stage");
  for (const Flow& flow : network.flows)
    for (const std::size_t to : flow.to)
      if (flow.from && stages[*flow.from] > stages[to])
        return make_error(Code::invalid_argument, "plan: layer '" + network.layers[to].name +
                                                      "' is in a stage before that of a layer that it reads from");
  return stages;
}

/// Bytes at the cut behind each stage.
std::vector<Bytes> cut_bytes(const Layers& network, const std::vector<std::size_t>& stages, std::size_t count) {
  std::vector<Bytes> bytes(count, 0);
  for (const Flow& flow : network.flows) {
    const std::size_t made = flow.from ? stages[*flow.from] : 0;
    std::size_t wanted = flow.is_result ? count - 1 : made;
    for (const std::size_t to : flow.to) wanted = std::max(wanted, stages[to]);
    for (std::size_t s = made; s < wanted; ++s) bytes[s] += flow.bytes;
  }
  return bytes;
}

class Pricing {
 public:
  Pricing(const Problem& problem, const std::vector<Part>& parts) : problem_(problem), parts_(parts) {}

  Result<Plan> run() {
    MG_TRY(const std::vector<std::size_t> stages, stages_of_layers(problem_, parts_));
    sent_ = cut_bytes(problem_.network, stages, parts_.size());
    for (std::size_t s = 0; s < parts_.size(); ++s) MG_RETURN_IF_ERROR(add_stage(s));
    for (std::size_t s = 0; s + 1 < parts_.size(); ++s) add_way(s);
    for (std::size_t s = 0; s < parts_.size(); ++s) set_utilisation(s);
    plan_.in_flight = 1;
    if (plan_.period > 0)
      plan_.in_flight = static_cast<std::size_t>(std::max(1.0, std::ceil(plan_.latency / plan_.period - 1e-9)));
    return std::move(plan_);
  }

 private:
  StageLoad load(std::size_t s, const Device& device) const {
    StageLoad load;
    for (const std::size_t i : parts_[s].layers) {
      const Layer& layer = problem_.network.layers[i];
      load.seconds += device.seconds[i];
      load.parameters += layer.parameters;
      load.buffers += layer.buffers;
      load.activations =
          problem_.training ? load.activations + layer.activations : std::max(load.activations, layer.activations);
    }
    load.received = s == 0 ? 0 : sent_[s - 1];
    load.sent = s + 1 == parts_.size() ? 0 : sent_[s];
    load.replicas = parts_[s].devices.size();
    load.devices_from_here = 0;
    for (std::size_t later = s; later < parts_.size(); ++later) load.devices_from_here += parts_[later].devices.size();
    return load;
  }

  Status add_stage(std::size_t s) {
    Stage stage{parts_[s]};
    double rate = 0, joules = 0;
    std::vector<double> speeds;
    for (const std::size_t d : stage.devices) {
      const Device& device = problem_.devices[d];
      const StageLoad todo = load(s, device);
      stage.received = todo.received;
      stage.sent = todo.sent;
      const Bytes memory = memory_use(todo, device, problem_);
      stage.memory = std::max(stage.memory, memory);
      if (device.memory > 0 && memory > device.memory)
        return make_error(Code::resource_exhausted,
                          fmt::format("stage {} needs {} on '{}', which has {}", s + 1, format_bytes(memory),
                                      device.name, format_bytes(device.memory)));
      const Seconds busy = busy_seconds(todo, device, problem_.training);
      stage.busy_each.push_back(busy);
      stage.busy = std::max(stage.busy, busy);
      speeds.push_back(1 / occupied_seconds(todo, device, problem_));  // infinite: free
      rate += speeds.back();
      joules += speeds.back() * busy * device.watts;
    }
    stage.period = 1 / rate;
    if (std::isfinite(rate)) plan_.joules += joules / rate;
    shares_.emplace_back();
    for (const double speed : speeds)
      shares_.back().push_back(std::isfinite(rate) ? speed / rate : 1.0 / static_cast<double>(speeds.size()));
    plan_.latency += stage.busy;
    limit(stage.period, fmt::format("stage {}", s + 1));
    plan_.stages.push_back(std::move(stage));
    return {};
  }

  /// From stage s to the next one.
  void add_way(std::size_t s) {
    const double bytes = crossings(problem_.training) * static_cast<double>(sent_[s]);
    Seconds slowest = 0, delay = 0;
    for (std::size_t a = 0; a < parts_[s].devices.size(); ++a) {
      for (std::size_t b = 0; b < parts_[s + 1].devices.size(); ++b) {
        const std::size_t from = parts_[s].devices[a], to = parts_[s + 1].devices[b];
        const Way way = problem_.way(from, to);
        delay = std::max(delay, transfer_seconds(problem_, from, to, sent_[s]));
        if (way.rate > 0) slowest = std::max(slowest, shares_[s][a] * shares_[s + 1][b] * bytes / way.rate);
      }
    }
    plan_.stages[s].transfer = delay;
    plan_.latency += delay;
    limit(slowest, fmt::format("the way from stage {} to stage {}", s + 1, s + 2));
  }

  void limit(Seconds period, std::string what) {
    if (period <= plan_.period && !plan_.limiting.empty()) return;
    plan_.period = period;
    plan_.limiting = std::move(what);
  }

  void set_utilisation(std::size_t s) {
    if (plan_.period == 0) return;
    double busy = 0;
    for (std::size_t i = 0; i < parts_[s].devices.size(); ++i)
      busy += shares_[s][i] * plan_.stages[s].busy_each[i] / plan_.period;
    plan_.stages[s].utilisation = busy / static_cast<double>(parts_[s].devices.size());
  }

  const Problem& problem_;
  const std::vector<Part>& parts_;
  std::vector<Bytes> sent_;
  std::vector<std::vector<double>> shares_;  // of the micro-batches, of each device of each stage
  Plan plan_;
};

}  // namespace

Seconds shared_period(std::span<const Seconds> of_devices) {
  double speed = 0;
  for (const Seconds seconds : of_devices) speed += 1 / seconds;  // infinite: free
  return 1 / speed;
}

Seconds transfer_seconds(const Problem& problem, std::size_t from, std::size_t to, Bytes bytes) {
  const Device& a = problem.devices[from];
  const Device& b = problem.devices[to];
  const Way way = problem.way(from, to);
  Seconds seconds = 0;
  for (const BytesPerSecond rate : {a.rate, b.rate, way.rate})
    if (rate > 0) seconds = std::max(seconds, static_cast<double>(bytes) / rate);
  return crossings(problem.training) * (seconds + a.delay + b.delay + way.delay);
}

std::size_t Plan::devices() const {
  std::size_t count = 0;
  for (const Stage& stage : stages) count += stage.devices.size();
  return count;
}

Result<Plan> price(const Problem& problem, const std::vector<Part>& parts) {
  MG_RETURN_IF_ERROR(check(problem));
  if (parts.empty()) return make_error(Code::invalid_argument, "plan: no stages");
  return Pricing(problem, parts).run();
}

}  // namespace mangrove::plan
