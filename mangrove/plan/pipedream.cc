#include "mangrove/plan/pipedream.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <sstream>

namespace mangrove::plan {
namespace {

constexpr std::string_view kArrow = " -- ";
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

struct ProfiledNode {
  std::string id, name;
  double forward_ms = 0, backward_ms = 0, activation = 0, parameters = 0;
  std::vector<std::size_t> readers = {};
  std::size_t unread_inputs = 0;  // while sorting
  std::size_t layer = kNone;      // in the order of the layers; none: an input
  bool is_input() const { return name.starts_with("Input"); }
};

/// The number behind "KEY=".
bool read_number(std::string_view line, std::string_view key, double& number) {
  const auto at = line.find(key);
  if (at == std::string_view::npos) return false;
  const char* begin = line.data() + at + key.size();
  const auto [end, code] = std::from_chars(begin, line.data() + line.size(), number);
  return code == std::errc() && number >= 0 && number < 1e18;
}

class Parser {
 public:
  Result<PipeDreamProfile> parse(const std::string& text) {
    std::istringstream lines(text);
    std::vector<std::pair<int, std::string>> edges;
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      if (line.starts_with('\t')) {
        edges.emplace_back(number, line.substr(1));
      } else if (!line.empty()) {
        MG_RETURN_IF_ERROR(add_node(line).context(fmt::format("line {}", number)));
      }
    }
    for (const auto& [at, edge] : edges) MG_RETURN_IF_ERROR(add_edge(edge).context(fmt::format("line {}", at)));
    MG_RETURN_IF_ERROR(sort());
    return layers();
  }

 private:
  Status add_node(const std::string& line) {
    const auto first = line.find(kArrow), last = line.rfind(kArrow);
    ProfiledNode node;
    const bool good =
        first != std::string::npos && first < last && read_number(line, "forward_compute_time=", node.forward_ms) &&
        read_number(line, "backward_compute_time=", node.backward_ms) &&
        read_number(line, "activation_size=", node.activation) && read_number(line, "parameter_size=", node.parameters);
    if (!good)
      return make_error(Code::invalid_argument,
                        "not 'nodeN -- NAME -- forward_compute_time=.., backward_compute_time=.., activation_size=.., "
                        "parameter_size=..': '" +
                            line + "'");
    node.id = line.substr(0, first);
    node.name = line.substr(first + kArrow.size(), last - first - kArrow.size());
    if (!ids_.emplace(node.id, nodes_.size()).second)
      return make_error(Code::invalid_argument, "there is a '" + node.id + "' already");
    nodes_.push_back(std::move(node));
    return {};
  }

  Status add_edge(const std::string& line) {
    const auto between = line.find(kArrow);
    if (between == std::string::npos) return make_error(Code::invalid_argument, "not 'nodeA -- nodeB': '" + line + "'");
    const auto from = ids_.find(line.substr(0, between)), to = ids_.find(line.substr(between + kArrow.size()));
    if (from == ids_.end() || to == ids_.end())
      return make_error(Code::invalid_argument, "an edge of a node that is not there: '" + line + "'");
    nodes_[from->second].readers.push_back(to->second);
    ++nodes_[to->second].unread_inputs;
    return {};
  }

  Status sort() {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (nodes_[i].unread_inputs == 0) ready.push_back(i);
    std::size_t done = 0;
    for (; done < ready.size(); ++done) {
      ProfiledNode& node = nodes_[ready[done]];
      if (!node.is_input()) {
        node.layer = order_.size();
        order_.push_back(ready[done]);
      }
      for (const std::size_t reader : node.readers)
        if (--nodes_[reader].unread_inputs == 0) ready.push_back(reader);
    }
    if (done < nodes_.size()) return make_error(Code::invalid_argument, "the nodes are in a cycle");
    return {};
  }

  Result<PipeDreamProfile> layers() const {
    PipeDreamProfile profile;
    for (const std::size_t i : order_) {
      const ProfiledNode& node = nodes_[i];
      profile.network.layers.push_back({node.id + " " + node.name.substr(0, node.name.find('(')),
                                        std::llround(node.parameters), std::llround(node.activation)});
      profile.forward.push_back(node.forward_ms / 1e3);
      profile.backward.push_back(node.backward_ms / 1e3);
    }
    for (const ProfiledNode& node : nodes_) {
      Flow flow{std::nullopt, {}, node.readers.empty(), std::llround(node.activation)};
      if (node.layer != kNone) flow.from = node.layer;
      for (const std::size_t reader : node.readers)
        if (nodes_[reader].layer != kNone) flow.to.push_back(nodes_[reader].layer);
      std::ranges::sort(flow.to);
      profile.network.flows.push_back(std::move(flow));
    }
    MG_RETURN_IF_ERROR(check(profile.network));
    return profile;
  }

  std::vector<ProfiledNode> nodes_;
  std::map<std::string, std::size_t> ids_;
  std::vector<std::size_t> order_;  // of the layers
};

}  // namespace

Result<PipeDreamProfile> parse_pipedream(const std::string& text) {
  return Parser().parse(text);
}

Result<PipeDreamProfile> load_pipedream(const fs::path& path) {
  MG_TRY(const std::string text, read_file(path));
  MG_TRY(PipeDreamProfile profile, parse_pipedream(text).context(path.string()));
  profile.network.name = path.filename().string();
  return profile;
}

}  // namespace mangrove::plan
