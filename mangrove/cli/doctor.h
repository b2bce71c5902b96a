#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace mangrove::cli {

/// One thing that was looked at on this machine.
struct Finding {
  enum class State {
    good,     // it is there and works
    missing,  // some commands need it: `advice` says which, and what to do
    broken,   // something that is needed, or that the person has set up, does not work
  };
  std::string group;  // "processor"
  std::string name;   // "kernels"
  State state = State::good;
  std::string found;   // what was found
  std::string advice;  // what to do about it; "" where nothing has to be done
};

/// What this machine can do, group by group: processor, memory, data, network, testbed, configuration, clock. Takes a
/// second or so; of a coordinator that the configuration names, until it answers, five at most.
std::vector<Finding> examine_machine();

/// `ok`, and `findings` with the members of Finding.
nlohmann::json doctor_json(const std::vector<Finding>& findings);
/// A line for each, with what to do below it.
std::string doctor_text(const std::vector<Finding>& findings);
bool is_broken(const std::vector<Finding>& findings);

}  // namespace mangrove::cli
