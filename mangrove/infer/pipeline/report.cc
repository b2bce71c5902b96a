#include "mangrove/infer/pipeline/report.h"

#include <fmt/format.h>

namespace mangrove::infer {
namespace {

std::string sentence_of(const char* why, const std::vector<StageOnNode>& stages) {
  std::vector<std::string> items;
  for (const StageOnNode& place : stages) items.push_back(fmt::format("stage {} on {}", place.stage + 1, place.node));
  return fmt::format("{}: {}", why, job::listed(items));
}

}  // namespace

std::string Replanned::sentence() const {
  return sentence_of("the stages of a lost node go on elsewhere", stages);
}

std::string Revised::sentence() const {
  return sentence_of("speeds have changed; the new plan", stages);
}

}  // namespace mangrove::infer
