#include "mangrove/infer/job_settings.h"

#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/suggestion.h"
#include "mangrove/infer/pipeline/activation_codec.h"
#include "mangrove/infer/pipeline/trust_key.h"
#include "mangrove/infer/strategy_row.h"
#include "mangrove/job/keys.h"

namespace mangrove::infer {
namespace {

/// For people: "strategy 'pipeline'".
std::string those_with(bool Strategy::*trait) {
  std::vector<std::string> names = strategies_with(trait);
  for (std::string& name : names) name = "'" + name + "'";
  return "strategy " + join_words(names);
}

}  // namespace

Status check_job(const InferJob& job) {
  MG_RETURN_IF_ERROR(job::check_keys(job));
  MG_TRY(const Strategy* strategy, find_strategy(job.strategy()));
  if (job.stages() > 0 && job.cuts_size() > 0 && job.stages() != job.cuts_size() + 1)
    return make_error(Code::invalid_argument, "cuts: " + std::to_string(job.cuts_size()) + " cuts make " +
                                                  std::to_string(job.cuts_size() + 1) + " stages, not " +
                                                  std::to_string(job.stages()) + ": leave `stages` out");
  if (job.frame_values() && !job.frames())
    return make_error(Code::invalid_argument, "frame_values: only a job with frames has values in their place");
  if (job.frames() && !strategy->takes_requests)
    return make_error(Code::invalid_argument, "input: frames go through " + those_with(&Strategy::takes_requests) +
                                                  ", not '" + job.strategy() + "'");
  if (job.deadline_s() > 0 && !strategy->takes_requests)
    return make_error(Code::invalid_argument, "deadline: is of " + those_with(&Strategy::takes_requests) + ", and '" +
                                                  job.strategy() + "' has no requests");
  MG_TRY(const std::optional<double> spot_checks, parse_trust(job.trust()));
  if (spot_checks && !strategy->checks_answers)
    return make_error(Code::invalid_argument, "trust: spot checks are of " + those_with(&Strategy::checks_answers) +
                                                  ", and '" + job.strategy() + "' has none");
  if (job.baseline() != kAutoBaseline && job.baseline() != kNoBaseline)
    return make_error(Code::invalid_argument, "baseline: '" + job.baseline() + "' is neither auto nor off");
  return check_activations(job.activations());
}

std::size_t window(const InferJob& job, const StagePlan& plan) {
  return job.window() > 0 ? static_cast<std::size_t>(job.window()) : plan.window;
}

}  // namespace mangrove::infer
