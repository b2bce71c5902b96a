#pragma once

#include <vector>

#include "mangrove/base/random.h"
#include "mangrove/plan/problem.h"

namespace mangrove::testing {

/// What random_problem draws.
struct Shape {
  std::size_t layers = 5;
  std::size_t devices = 3;
  bool is_chain = true;   // else layers read from any of those before them
  std::size_t kinds = 0;  // of devices; 0: some are alike by chance
  std::size_t most_replicas = 0;
  bool has_memory = false, has_links = false, has_ways = false, is_training = false;
};

/// Small whole numbers, many of them equal, so that limits are met and ties happen.
plan::Problem random_problem(Random& random, const Shape& shape);

/// A chain of layers that take so many seconds on each of so many devices; each makes a value of 100 bytes.
plan::Problem chain_problem(const std::vector<Seconds>& seconds, std::size_t devices);

}  // namespace mangrove::testing
