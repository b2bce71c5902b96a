#include "mangrove/place/federation/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace mangrove::place {
namespace {

constexpr const char* kOutside = "outside";

Device outside_device(const std::string& name) {
  Device device;
  device.name = device.kind = name;
  device.is_outside = true;
  return device;
}

class Splitter {
 public:
  explicit Splitter(const Problem& problem) : problem_(problem), scenario_(problem.scenario()) {}

  Result<Split> run() {
    find_domains();
    MG_RETURN_IF_ERROR(add_links());
    add_outside();
    add_services();
    return std::move(made_);
  }

 private:
  void find_domains() {
    std::map<std::string, std::size_t> numbers;
    for (std::uint32_t d = 0; d < scenario_.devices.size(); ++d) {
      const Device& device = scenario_.devices[d];
      const auto [found, is_new] = numbers.try_emplace(device.domain, numbers.size());
      if (is_new) {
        made_.names.push_back(device.domain);
        made_.domains.emplace_back();
        made_.outline.devices.push_back(outside_device(device.domain));
      }
      domain_of_.push_back(found->second);
      Split::Part& part = made_.domains[found->second];
      number_in_.push_back(part.devices.size());
      part.devices.push_back(d);
      part.scenario.devices.push_back(device);
    }
    gates_.resize(made_.domains.size());
  }

  Status add_links() {
    for (Link link : scenario_.links) {
      const std::size_t a = domain_of_[link.from], b = domain_of_[link.to];
      if (a != b) {
        MG_RETURN_IF_ERROR(add_gate(link.from));
        MG_RETURN_IF_ERROR(add_gate(link.to));
        link.from = a;
        link.to = b;
        made_.outline.links.push_back(link);
        continue;
      }
      link.from = number_in_[link.from];
      link.to = number_in_[link.to];
      made_.domains[a].scenario.links.push_back(link);
    }
    return {};
  }

  Status add_gate(std::size_t device) {
    std::optional<std::size_t>& gate = gates_[domain_of_[device]];
    if (!gate) gate = device;
    if (*gate == device) return {};
    return make_error(
        Code::failed_precondition,
        fmt::format("the solver 'federated' takes domains with one gate: links to other domains end at "
                    "{} and {} of the domain '{}'",
                    scenario_.devices[*gate].name, scenario_.devices[device].name, scenario_.devices[device].domain));
  }

  void add_outside() {
    for (std::size_t d = 0; d < made_.domains.size(); ++d) {
      Scenario& scenario = made_.domains[d].scenario;
      scenario.devices.push_back(outside_device(kOutside));
      scenario.licences = scenario_.licences;
      if (!gates_[d]) continue;
      Link& link = scenario.links.emplace_back();
      link.from = number_in_[*gates_[d]];
      link.to = scenario.devices.size() - 1;
      link.is_to_outside = true;
    }
    made_.outline.licences = scenario_.licences;
  }

  void add_services() {
    made_.outline.services = scenario_.services;
    for (Service& service : made_.outline.services)
      for (Task& task : service.tasks)
        if (task.device) task.device = domain_of_[*task.device];
    for (std::size_t d = 0; d < made_.domains.size(); ++d) {
      Split::Part& part = made_.domains[d];
      const std::size_t outside = part.devices.size();
      part.scenario.services = scenario_.services;
      for (Service& service : part.scenario.services)
        for (Task& task : service.tasks)
          if (task.device) task.device = domain_of_[*task.device] == d ? number_in_[*task.device] : outside;
      // a part that leaves its domain moves: the domain that had it counts that, not the one that gets it
      part.before.most_moves = problem_.before().most_moves;
      for (const std::uint32_t device : problem_.before().devices)
        part.before.devices.push_back(
            device != kNowhere && domain_of_[device] == d ? static_cast<std::uint32_t>(number_in_[device]) : kNowhere);
    }
  }

  const Problem& problem_;
  const Scenario& scenario_;
  Split made_;
  std::vector<std::size_t> domain_of_, number_in_;  // by device
  std::vector<std::optional<std::size_t>> gates_;   // by domain
};

}  // namespace

Result<Split> split(const Problem& problem) {
  return Splitter(problem).run();
}

}  // namespace mangrove::place
