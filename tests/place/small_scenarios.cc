#include "tests/place/small_scenarios.h"

#include <fmt/format.h>

#include "mangrove/base/random.h"

namespace mangrove::testing {
namespace {

using namespace place;

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed) {}

  Scenario make() {
    const std::size_t devices = 3 + random_.below(2);
    for (std::size_t d = 0; d < devices; ++d) add_device(d);
    for (std::size_t a = 0; a < devices; ++a)
      for (std::size_t b = a + 1; b < devices; ++b)
        if (b == a + 1 || random_.below(2) == 0) add_link(a, b);
    if (random_.below(4) == 0) made_.links.pop_back();  // some are not connected
    made_.licences.push_back({"codec", 1});
    const std::size_t services = 1 + random_.below(2);
    for (std::size_t s = 0; s < services; ++s) add_service(s);
    return std::move(made_);
  }

 private:
  bool one_in(std::uint64_t n) { return random_.below(n) == 0; }

  void add_device(std::size_t d) {
    Device& device = made_.devices.emplace_back();
    device.name = fmt::format("d{}", d);
    device.kind = one_in(2) ? "fast" : "slow";
    device.flops = random_.uniform(1e9, 1e10);
    device.cores = one_in(2) ? 1 : 2;
    device.memory = one_in(3) ? 0 : static_cast<Bytes>(random_.uniform(2e8, 9e8));
    device.utilisation = random_.uniform(0.5, 1);
    device.idle_watts = random_.uniform(1, 20);
    device.watts = random_.uniform(1, 50);
    device.price = random_.uniform(0.1, 2);
    device.failure = random_.uniform(0, 0.1);
    device.trust = static_cast<std::int64_t>(random_.below(3));
    device.zone = one_in(2) ? "town" : "farm";
    if (one_in(2)) {
      device.accelerator = "gpu";
      device.accelerator_flops = random_.uniform(1e10, 1e11);
      device.accelerator_watts = random_.uniform(10, 100);
    }
  }

  void add_link(std::size_t a, std::size_t b) {
    Link link{
        a, b, random_.uniform(2e6, 2e7), random_.uniform(1e-3, 2e-2), random_.uniform(0, 2), random_.uniform(0.5, 1)};
    if (one_in(3)) link.worst_rate = link.rate * random_.uniform(0.5, 1);
    if (one_in(3)) link.worst_delay = link.delay * random_.uniform(1, 2);
    if (one_in(2)) link.zone = "town";
    made_.links.push_back(link);
  }

  void add_service(std::size_t number) {
    Service& service = made_.services.emplace_back();
    service.name = fmt::format("s{}", number);
    service.rate = random_.uniform(0.5, 8);
    if (one_in(3)) service.peak = service.rate * random_.uniform(1, 1.5);
    if (one_in(2)) service.deadline = random_.uniform(0.15, 1.5);
    if (one_in(5)) service.failures = 1;
    const std::size_t tasks = 2 + random_.below(service.failures > 0 ? 2 : 3);
    for (std::size_t t = 0; t < tasks; ++t) {
      Task& task = service.tasks.emplace_back();
      task.name = fmt::format("t{}", t);
      task.operations = random_.uniform(1e7, 5e8);
      task.memory = static_cast<Bytes>(random_.uniform(1e7, 2e8));
      if (one_in(7)) task.needs = "gpu";
      if (one_in(9)) task.trust = 1;
      if (one_in(12)) task.zones = {"town"};
      if (one_in(6)) task.licence = "codec";
      if (one_in(7)) task.apart = "alone";
      if (one_in(8)) task.times = {{"fast", 0.01}, {"slow", 0.05}};
      if (one_in(2)) task.wait = Wait::any;
      if (t == 0) task.device = random_.below(made_.devices.size());
    }
    for (std::size_t t = 1; t < tasks; ++t)
      for (std::size_t from = 0; from < t; ++from)
        if (from == t - 1 || one_in(3)) add_flow(service, from, t);
  }

  void add_flow(Service& service, std::size_t from, std::size_t to) {
    Flow& flow = service.flows.emplace_back();
    flow.from = from;
    flow.to = to;
    flow.bytes = static_cast<Bytes>(random_.uniform(1e3, 1e6));
    flow.share = random_.uniform(0.2, 1.2);
    if (one_in(6)) flow.zones = {"town"};
  }

  Random random_;
  Scenario made_;
};

}  // namespace

Scenario small_scenario(std::uint64_t seed) {
  return Maker(seed).make();
}

Before small_before(const Problem& problem, std::uint64_t seed) {
  Random random(seed);
  Before before;
  for (const Part& part : problem.parts()) {
    const auto& candidates = *part.candidates;
    const bool is_known = !candidates.empty() && random.below(5) > 0;
    before.devices.push_back(is_known ? candidates[random.below(candidates.size())] : kNowhere);
  }
  if (random.below(2) == 0) before.most_moves = random.below(3);
  return before;
}

Placement best_by_trying_all(const Problem& problem, const Objective& objective) {
  const std::vector<Part>& parts = problem.parts();
  Placement best;
  std::vector<double> best_values;
  for (const Part& part : parts)
    if (part.candidates->empty()) return best;
  std::vector<std::size_t> choice(parts.size(), 0);
  while (true) {
    Placement placement;
    for (std::size_t p = 0; p < parts.size(); ++p) placement.push_back((*parts[p].candidates)[choice[p]]);
    if (const Evaluation evaluation = evaluate(problem, placement); evaluation.is_feasible()) {
      const std::vector<double> values = values_of(objective, evaluation.measures);
      if (best.empty() || is_better(values, best_values)) {
        best = placement;
        best_values = values;
      }
    }
    std::size_t p = 0;
    while (p < parts.size() && ++choice[p] == parts[p].candidates->size()) choice[p++] = 0;
    if (p == parts.size()) return best;
  }
}

}  // namespace mangrove::testing
