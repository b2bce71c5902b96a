#include "mangrove/train/data_parallel/privacy_budget.h"

#include <span>
#include <string>
#include <utility>

#include "mangrove/base/check.h"
#include "mangrove/base/format.h"
#include "mangrove/base/random.h"

namespace mangrove::train {
namespace {

constexpr std::uint64_t kNoise = 0xd9;  // stream of random numbers

const char* whom_it_protects(const TrainJob& job) {
  return clips_samples(job) ? "samples" : "workers";
}

}  // namespace

PrivacyBudget::PrivacyBudget(const PrivacyOptions& options, privacy::Accountant accountant, std::int64_t steps)
    : options_(options),
      accountant_(std::move(accountant)),
      steps_(steps),
      most_(accountant_.steps_within(options.budget, steps)) {}

Result<PrivacyBudget> PrivacyBudget::create(const PrivacyOptions& options, double rate, std::int64_t steps) {
  if (options.noise == 0) {
    MG_TRY(privacy::Accountant accountant,
           privacy::Accountant::for_steps(options.budget, rate, steps).context("privacy"));
    return PrivacyBudget(options, std::move(accountant), steps);
  }
  const PrivacyBudget budget(options, privacy::Accountant(rate, options.noise), steps);
  if (budget.most() > 0) return budget;
  return make_error(Code::invalid_argument, "privacy: with noise " + format_number(options.noise) +
                                                " one step costs epsilon " + format_number(budget.spent(1)) +
                                                ", more than " + format_number(options.budget.epsilon));
}

PrivacyPlanned PrivacyBudget::planned(const TrainJob& job, const job::Device& device) const {
  return {.protects = whom_it_protects(job),
          .epsilon = options_.budget.epsilon,
          .delta = options_.budget.delta,
          .clip = options_.clip,
          .noise = noise(),
          .rate = rate(),
          .steps = steps_,
          .enough_for = most_,
          .noise_is_of_seed = noise_is_of_seed(device)};
}

PrivacyReport PrivacyBudget::report(const TrainJob& job, const job::Device& device, std::int64_t steps) const {
  return {.protects = whom_it_protects(job),
          .epsilon = spent(steps),
          .delta = options_.budget.delta,
          .budget = options_.budget.epsilon,
          .clip = options_.clip,
          .noise = noise(),
          .rate = rate(),
          .steps = steps,
          .noise_is_of_seed = noise_is_of_seed(device)};
}

bool noise_is_of_seed(const job::Device& device) {
  std::byte byte{};
  return !device.fill_secret(std::span(&byte, 1));
}

privacy::NoiseSource noise_of_step(const TrainJob& job, const job::Device& device, std::int64_t step) {
  if (noise_is_of_seed(device)) {
    const std::uint64_t seed = Random(job.seed()).fork(kNoise).next();
    return privacy::NoiseSource::of_seed(seed, static_cast<std::uint64_t>(step));
  }
  return privacy::NoiseSource::of_bytes([&device](std::span<std::byte> bytes) { MG_CHECK(device.fill_secret(bytes)); });
}

}  // namespace mangrove::train
