#include "mangrove/infer/ensemble/votes.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "mangrove/base/check.h"
#include "mangrove/base/suggestion.h"
#include "mangrove/learn/class_names.h"

namespace mangrove::infer {
namespace {

/// Of a classifier.
std::size_t outputs_of(const Graph& graph) {
  return static_cast<std::size_t>(graph.value(graph.outputs().front()).shape.dims().back());
}

void to_softmax(std::span<double> row) {
  const double most = *std::ranges::max_element(row);
  double sum = 0;
  for (double& value : row) sum += value = std::exp(value - most);
  for (double& value : row) value /= sum;
}

}  // namespace

Result<Member> member_of(const Graph& graph, std::span<const std::string> classes) {
  const std::string who = "network '" + graph.name() + "'";
  const std::size_t outputs = outputs_of(graph);
  Member member{graph.name(), {}};
  const auto stored = graph.metadata().find(learn::kClassesKey);
  if (stored == graph.metadata().end()) {
    if (outputs != classes.size())
      return make_error(Code::invalid_argument, who + " does not say what its " + std::to_string(outputs) +
                                                    " outputs are: its metadata have no '" + learn::kClassesKey + "'");
    member.class_of.resize(outputs);
    std::iota(member.class_of.begin(), member.class_of.end(), 0);
    return member;
  }
  const auto names = nlohmann::json::parse(stored->second, nullptr, /*allow_exceptions=*/false);
  if (!names.is_array() || names.size() != outputs)
    return make_error(Code::invalid_argument, who + ": its metadata '" + learn::kClassesKey +
                                                  "' are no list of the names of " + std::to_string(outputs) +
                                                  " outputs");
  for (const auto& name : names) {
    const auto found = std::ranges::find(classes, name.is_string() ? name.get<std::string>() : "");
    member.class_of.push_back(found == classes.end() ? kRest : static_cast<std::int32_t>(found - classes.begin()));
  }
  if (std::ranges::all_of(member.class_of, [](std::int32_t c) { return c == kRest; }))
    return make_error(Code::invalid_argument, who + " knows none of the data's classes: " + join_words(classes));
  return member;
}

Votes::Votes(Rule rule, std::int64_t samples, std::int32_t classes)
    : rule_(rule),
      classes_(classes),
      sums_(static_cast<std::size_t>(samples * classes), 0.0),
      counts_(static_cast<std::size_t>(classes), 0) {}

void Votes::add(const Member& member, std::span<const float> scores) {
  const std::size_t outputs = member.class_of.size(), classes = static_cast<std::size_t>(classes_);
  MG_CHECK(scores.size() / outputs == sums_.size() / classes);
  for (const std::int32_t c : member.class_of)
    if (c != kRest) ++counts_[static_cast<std::size_t>(c)];
  std::vector<double> row(outputs);
  for (std::size_t sample = 0; sample < scores.size() / outputs; ++sample) {
    std::ranges::copy(scores.subspan(sample * outputs, outputs), row.begin());
    if (rule_ == Rule::averaging) to_softmax(row);
    for (std::size_t i = 0; i < outputs; ++i) {
      if (member.class_of[i] == kRest) continue;
      const double probability = rule_ == Rule::averaging ? row[i] : 1 / (1 + std::exp(-row[i]));
      sums_[sample * classes + static_cast<std::size_t>(member.class_of[i])] += probability;
    }
  }
}

std::vector<std::int32_t> Votes::decide(Claims* claims) const {
  constexpr double kClaims = 0.5;
  const auto classes = static_cast<std::size_t>(classes_);
  std::vector<std::int32_t> decisions;
  std::vector<double> row(classes);
  for (std::size_t first = 0; first < sums_.size(); first += classes) {
    for (std::size_t c = 0; c < classes; ++c) row[c] = counts_[c] > 0 ? sums_[first + c] / counts_[c] : 0;
    // who claims a sample alone has the highest probability too, so that the verification need not be told from that
    decisions.push_back(static_cast<std::int32_t>(std::ranges::max_element(row) - row.begin()));
    if (claims == nullptr) continue;
    const auto claiming = std::ranges::count_if(row, [](double probability) { return probability >= kClaims; });
    ++(claiming == 1 ? claims->one : claiming == 0 ? claims->none : claims->several);
  }
  return decisions;
}

}  // namespace mangrove::infer
