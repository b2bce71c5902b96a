#include "mangrove/graph/topological_sort.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>

#include "mangrove/graph/node_check.h"

namespace mangrove {

Result<std::vector<Node>> topological_sort(std::vector<Node> nodes) {
  std::unordered_map<std::string, std::size_t> producer;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& output : nodes[i].outputs) {
      if (!output.empty()) producer.emplace(output, i);
    }
  }
  std::vector<std::vector<std::size_t>> consumers(nodes.size());
  std::vector<std::size_t> waiting_for(nodes.size(), 0);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& input : nodes[i].inputs) {
      const auto found = producer.find(input);
      if (found == producer.end()) continue;
      consumers[found->second].push_back(i);
      ++waiting_for[i];
    }
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (waiting_for[i] == 0) ready.push(i);
  }
  std::vector<Node> sorted;
  sorted.reserve(nodes.size());
  while (!ready.empty()) {
    const std::size_t next = ready.top();
    ready.pop();
    for (const std::size_t consumer : consumers[next]) {
      if (--waiting_for[consumer] == 0) ready.push(consumer);
    }
    sorted.push_back(std::move(nodes[next]));
  }
  if (sorted.size() < nodes.size()) {
    const auto stuck = std::find_if(waiting_for.begin(), waiting_for.end(), [](std::size_t n) { return n > 0; });
    const Node& node = nodes[static_cast<std::size_t>(stuck - waiting_for.begin())];
    return make_error(Code::invalid_argument, describe(node) + " needs its own output: the graph has a cycle");
  }
  return sorted;
}

}  // namespace mangrove
