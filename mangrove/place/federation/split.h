#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/place/problem.h"

namespace mangrove::place {

/// What a federation knows in common, and what each domain knows alone.
struct Split {
  struct Part {
    Scenario scenario;                   // its devices, then the one that stands for all others, behind its gate
    Before before;                       // of its own devices
    std::vector<std::uint32_t> devices;  // of the whole problem, by device of `scenario` but the last
  };
  std::vector<std::string> names;  // of domains; devices without one make one up, without a name
  Scenario outline;                // all services, a device in place of each domain, and links between gates
  std::vector<Part> domains;
};

/// errors: failed_precondition: a domain has two gates: devices at which links to other domains end.
Result<Split> split(const Problem& problem);

}  // namespace mangrove::place
