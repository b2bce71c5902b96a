#include "mangrove/infer/views/requests.h"

#include <algorithm>

namespace mangrove::infer {

std::uint64_t ViewRequests::add(net::Rank rank, std::uint64_t batch, Instant now) {
  nodes_[rank].asked[++last_] = {batch, now};
  return last_;
}

std::optional<std::uint64_t> ViewRequests::find(net::Rank rank, std::uint64_t request) const {
  const auto node = nodes_.find(rank);
  if (node == nodes_.end()) return std::nullopt;
  const auto asked = node->second.asked.find(request);
  if (asked == node->second.asked.end()) return std::nullopt;
  return asked->second.batch;
}

void ViewRequests::answer(net::Rank rank, std::uint64_t request, Instant now) {
  Node& node = nodes_[rank];
  if (node.asked.begin()->first == request) node.heard = now;
  node.asked.erase(request);
}

bool ViewRequests::is_silent(net::Rank rank, Instant now) const {
  const auto node = nodes_.find(rank);
  if (node == nodes_.end() || node->second.asked.empty()) return false;
  const Instant since = std::max(node->second.heard, node->second.asked.begin()->second.at);
  return now - since > timeout_;
}

std::vector<std::uint64_t> ViewRequests::of_node(net::Rank rank) const {
  std::vector<std::uint64_t> batches;
  const auto node = nodes_.find(rank);
  if (node == nodes_.end()) return batches;
  for (const auto& [request, asked] : node->second.asked) batches.push_back(asked.batch);
  return batches;
}

void ViewRequests::forget_batch(std::uint64_t batch) {
  for (auto& [rank, node] : nodes_)
    std::erase_if(node.asked, [&](const auto& entry) { return entry.second.batch == batch; });
}

}  // namespace mangrove::infer
