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

std::string Quarantined::sentence() const {
  std::string text =
      fmt::format("{} answers wrongly ({} of {} checks) and is quarantined; {} of its micro-batches are done again",
                  node, wrong, checks, redone);
  if (in_doubt > 0) text += fmt::format(", {} were told already", in_doubt);
  return text;
}

std::string Isolated::sentence() const {
  return sentence_of(why == kWrongAnswers
                         ? "some answers are wrong; to find out whose, each board computes the whole network"
                         : "answers of a stage could not be compared; each board computes the whole network",
                     stages);
}

}  // namespace mangrove::infer
