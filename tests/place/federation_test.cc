// Domains that tell each other prices and bids only.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/place/evaluation.h"
#include "mangrove/place/federation/domain.h"
#include "mangrove/place/federation/goods.h"
#include "mangrove/place/federation/market.h"
#include "mangrove/place/federation/split.h"
#include "mangrove/place/scenario_file.h"
#include "mangrove/place/solver.h"

namespace mangrove::place {
namespace {

// The south is cheaper, but has no room for all; the link between the gates carries one stream of pictures.
const std::string kTwoDomains = R"(
device n-camera: {count: 3, flops: 1e9, memory: 100MB, domain: north}
device n-gate: {flops: 2e9, memory: 50MB, domain: north, price: 0.01}
device n-box: {count: 2, flops: 8e9, cores: 2, memory: 500MB, domain: north, price: 0.4}
device s-gate: {flops: 2e9, memory: 50MB, domain: south, price: 0.01}
device s-box: {count: 2, flops: 6e9, cores: 2, memory: 450MB, domain: south, price: 0.15}
link n-camera - n-gate: {rate: 50mbit, delay: 2ms}
link n-gate - n-box: {rate: 1gbit, delay: 1ms}
link s-gate - s-box: {rate: 1gbit, delay: 1ms}
link n-gate - s-gate: {rate: 10mbit, delay: 5ms, price: 0.1}
service watch: {count: 3, rate: 2, deadline: 900ms}
task watch/take: {operations: 1e6, memory: 10MB, device: n-camera}
task watch/cut: {operations: 1e8, memory: 80MB}
task watch/look: {operations: 1e9, memory: 200MB, licence: eyes}
task watch/tell: {operations: 1e6, memory: 10MB, device: n-gate}
flow watch/take - cut: {bytes: 200kB}
flow watch/cut - look: {bytes: 50kB}
flow watch/look - tell: {bytes: 1kB}
licence eyes: {devices: 2}
)";

Scenario scenario_of(std::string text, const std::string& from = "", const std::string& to = "") {
  for (std::size_t at = from.empty() ? text.npos : text.find(from); at != text.npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  auto scenario = parse_scenario(text, "s.yaml");
  EXPECT_TRUE(scenario.ok()) << scenario.error().message;
  return scenario.ok() ? *std::move(scenario) : Scenario();
}

SolveOptions options_for(const std::string& objective) {
  SolveOptions options;
  options.objective = *parse_objective(objective);
  options.time_limit = 120;
  return options;
}

Solution solved_by(const std::string& name, const Problem& problem, const std::string& objective) {
  for (const SolverRow& row : solvers())
    if (row.name == name) return *row.solve(problem, options_for(objective));
  ADD_FAILURE() << name;
  return {};
}

double value_for(const Problem& problem, const Solution& solution, const std::string& objective) {
  return values_of(*parse_objective(objective), evaluate(problem, solution.placement).measures)[0];
}

/// What a domain said, in order.
using Log = std::vector<Bid>;

class Listener final : public Bidder {
 public:
  Listener(std::unique_ptr<Domain> domain, Log& log) : domain_(std::move(domain)), log_(log) {}
  std::optional<Bid> bid(const Call& call, const Milp::Limits& limits) override {
    std::optional<Bid> bid = domain_->bid(call, limits);
    if (bid) log_.push_back(*bid);
    return bid;
  }

 private:
  std::unique_ptr<Domain> domain_;
  Log& log_;
};

struct Overheard {
  Deal deal;
  std::vector<Log> logs;  // by domain
};

Overheard overhear(Scenario scenario) {
  const Problem problem(std::move(scenario));
  Split parts = *split(problem);
  const Problem outline(parts.outline);
  Overheard heard;
  heard.logs.resize(parts.domains.size());
  std::vector<std::unique_ptr<Listener>> listeners;
  std::vector<Bidder*> bidders;
  for (std::size_t d = 0; d < parts.domains.size(); ++d) {
    auto domain = std::make_unique<Domain>(std::move(parts.domains[d].scenario), std::move(parts.domains[d].before),
                                           *parse_objective("cost"));
    listeners.push_back(std::make_unique<Listener>(std::move(domain), heard.logs[d]));
    bidders.push_back(listeners.back().get());
  }
  const SolveOptions options = options_for("cost");
  heard.deal = Market(outline, bidders, options).run();
  return heard;
}

TEST(Federation, ComesWithinFivePercentOfTheJointOptimum) {
  const Problem problem(scenario_of(kTwoDomains));
  for (const std::string objective : {"cost", "latency", "worst_latency", "devices", "cost+0.5*latency"}) {
    const Solution joint = solved_by("exact", problem, objective);
    ASSERT_EQ(joint.outcome, Solution::Outcome::optimal) << objective;
    const Solution found = solved_by("federated", problem, objective);
    ASSERT_FALSE(found.placement.empty()) << objective << ": " << found.why;
    EXPECT_TRUE(evaluate(problem, found.placement).is_feasible()) << objective;
    const double least = value_for(problem, joint, objective);
    EXPECT_LE(value_for(problem, found, objective), 1.05 * least) << objective;
    EXPECT_LE(*found.bound, least * (1 + 1e-6)) << objective;
    ASSERT_TRUE(found.negotiation) << objective;
    EXPECT_GE(found.negotiation->messages, 4 * found.negotiation->rounds) << objective;  // two domains
  }
}

TEST(Federation, OutsideSeesNoDevices) {
  const Problem problem(scenario_of(kTwoDomains));
  const Split parts = *split(problem);
  ASSERT_EQ(parts.names, (std::vector<std::string>{"north", "south"}));
  // the outline has a device for each domain, and the link between gates
  EXPECT_EQ(parts.outline.devices.size(), 2u);
  EXPECT_EQ(parts.outline.links.size(), 1u);
  EXPECT_EQ(parts.outline.devices[1].price, 0);
  // the south knows its own three devices and one that stands for the north
  const Scenario& south = parts.domains[1].scenario;
  ASSERT_EQ(south.devices.size(), 4u);
  EXPECT_TRUE(south.devices[3].is_outside);
  EXPECT_EQ(south.links.size(), 3u);
  for (const Device& device : south.devices) EXPECT_NE(device.domain, "north");
  // a bid has as many numbers as there are tasks, flows, licences and measures, however many devices there are
  const Goods goods(problem);
  EXPECT_EQ(goods.count(), 2 * problem.parts().size() + 2 * problem.flows().size() + 1 + 4);
}

TEST(Federation, OtherNamesAndPlacesInsideChangeNothing) {
  const Overheard one = overhear(scenario_of(kTwoDomains));
  ASSERT_EQ(one.deal.accepted.size(), 2u) << one.deal.why;
  // other names, zones and labels in the south: its offers are the same, so the north hears and says the same
  const Overheard other =
      overhear(scenario_of(kTwoDomains, "device s-box: {", "device s-box: {zone: hall, labels: disk, trust: 3, "));
  const Overheard named = overhear(scenario_of(kTwoDomains, "s-box", "south-machine"));
  for (const Overheard* again : {&other, &named}) {
    EXPECT_EQ(again->deal.accepted, one.deal.accepted);
    EXPECT_EQ(again->deal.negotiation.rounds, one.deal.negotiation.rounds);
    for (std::size_t d = 0; d < 2; ++d) {
      ASSERT_EQ(again->logs[d].size(), one.logs[d].size());
      for (std::size_t b = 0; b < one.logs[d].size(); ++b) EXPECT_EQ(again->logs[d][b].amounts, one.logs[d][b].amounts);
    }
  }
}

TEST(Federation, ProvesThatThereIsNoPlacement) {
  // only the two boxes of the north have memory for one each, of three
  const Problem problem(scenario_of(kTwoDomains, "memory: 200MB", "memory: 480MB"));
  EXPECT_EQ(solved_by("exact", problem, "cost").outcome, Solution::Outcome::infeasible);
  const Solution found = solved_by("federated", problem, "cost");
  EXPECT_TRUE(found.placement.empty());
  EXPECT_FALSE(found.why.empty());
}

TEST(Federation, KeepsFlowsInTheirZones) {
  std::string text = kTwoDomains;
  for (const std::string inside : {"n-gate - n-box: {", "s-gate - s-box: {"})
    text.replace(text.find(inside), inside.size(), inside + "zone: home, ");
  const std::string flow = "cut - look: {";
  text.replace(text.find(flow), flow.size(), flow + "zones: home, ");
  const Problem problem(scenario_of(text));
  const Solution joint = solved_by("exact", problem, "cost"), found = solved_by("federated", problem, "cost");
  ASSERT_EQ(joint.outcome, Solution::Outcome::optimal) << joint.why;
  ASSERT_FALSE(found.placement.empty()) << found.why;
  EXPECT_TRUE(evaluate(problem, found.placement).is_feasible());
  EXPECT_LE(value_for(problem, found, "cost"), 1.05 * value_for(problem, joint, "cost"));
  EXPECT_LE(*found.bound, value_for(problem, joint, "cost") * (1 + 1e-6));
}

TEST(Federation, NeedsDomainsAndTime) {
  for (const SolverRow& row : solvers()) {
    if (!row.needs_domains) continue;
    std::string text = kTwoDomains;
    for (const char* domain : {", domain: north", ", domain: south"})
      for (std::size_t at = text.find(domain); at != text.npos; at = text.find(domain)) text.erase(at, 15);
    const auto without = row.solve(Problem(scenario_of(text)), options_for("cost"));
    ASSERT_FALSE(without.ok());
    EXPECT_NE(without.error().message.find("no device has a key 'domain'"), std::string::npos);
    // domains that are stopped before they agree have nothing, and that proves nothing
    std::stop_source stopped;
    stopped.request_stop();
    SolveOptions options = options_for("cost");
    options.stop = stopped.get_token();
    const Problem problem(scenario_of(kTwoDomains));
    const auto found = row.solve(problem, options);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->outcome, Solution::Outcome::none);
    EXPECT_FALSE(found->why.empty());
  }
}

TEST(Federation, TakesDomainsWithOneGateOnly) {
  const Problem problem(
      scenario_of(kTwoDomains, "service watch", "link n-box-1 - s-box-1: {rate: 1mbit}\nservice watch"));
  const auto parts = split(problem);
  ASSERT_FALSE(parts.ok());
  EXPECT_EQ(parts.code(), Code::failed_precondition);
  EXPECT_NE(parts.error().message.find("end at n-gate and n-box-1 of the domain 'north'"), std::string::npos)
      << parts.error().message;
}

}  // namespace
}  // namespace mangrove::place
