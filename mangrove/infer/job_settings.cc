#include "mangrove/infer/job_settings.h"

#include <string>

#include "mangrove/infer/pipeline/activation_codec.h"
#include "mangrove/infer/strategy_row.h"

namespace mangrove::infer {
namespace {

constexpr std::int32_t kMostStages = 10'000;
constexpr std::int32_t kMostInFlight = 1'000'000;
constexpr double kLongest = 1e9;  // seconds

template <class T>
Status check(const char* key, T value, bool allowed, const char* expected) {
  if (allowed) return {};
  return make_error(Code::invalid_argument,
                    std::string(key) + ": must be " + expected + ", got " + std::to_string(value));
}

}  // namespace

Status check_job(const InferJob& job) {
  MG_TRY(const Strategy* strategy, find_strategy(job.strategy()));
  MG_RETURN_IF_ERROR(
      check("stages", job.stages(), job.stages() >= 0 && job.stages() <= kMostStages, "from 0 to 10000"));
  if (job.stages() > 0 && job.cuts_size() > 0 && job.stages() != job.cuts_size() + 1)
    return make_error(Code::invalid_argument, "cuts: " + std::to_string(job.cuts_size()) + " cuts make " +
                                                  std::to_string(job.cuts_size() + 1) + " stages, not " +
                                                  std::to_string(job.stages()) + ": leave `stages` out");
  const std::int64_t micro_batch = job.micro_batch();
  MG_RETURN_IF_ERROR(
      check("micro_batch", micro_batch, micro_batch >= 1 && micro_batch <= 1 << 20, "from 1 to 1048576"));
  MG_RETURN_IF_ERROR(
      check("window", job.window(), job.window() >= 0 && job.window() <= kMostInFlight, "from 0 to 1000000"));
  const double timeout = job.answer_timeout_s();
  MG_RETURN_IF_ERROR(check("answer_timeout_s", timeout, timeout >= 0 && timeout <= kLongest, "from 0 to 1000000000"));
  const double deadline = job.deadline_s();
  MG_RETURN_IF_ERROR(check("deadline_s", deadline, deadline >= 0 && deadline <= kLongest, "from 0 to 1000000000"));
  if (job.frames() && !strategy->takes_requests)
    return make_error(Code::invalid_argument,
                      "input: frames go through strategy 'pipeline', not '" + job.strategy() + "'");
  if (deadline > 0 && !strategy->takes_requests)
    return make_error(Code::invalid_argument,
                      "deadline: is of strategy 'pipeline', and '" + job.strategy() + "' has no requests");
  MG_RETURN_IF_ERROR(check_activations(job.activations()));
  return check("limit", job.limit(), job.limit() >= 0, "0 or more");
}

Seconds answer_timeout(const InferJob& job) {
  return job.answer_timeout_s() > 0 ? job.answer_timeout_s() : 30;
}

std::size_t window(const InferJob& job, const StagePlan& plan) {
  return job.window() > 0 ? static_cast<std::size_t>(job.window()) : plan.window;
}

}  // namespace mangrove::infer
