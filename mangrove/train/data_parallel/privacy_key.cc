#include "mangrove/train/data_parallel/privacy_key.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <string_view>

#include "mangrove/data/augment/augmentation.h"
#include "mangrove/train/compression/uplink_codec.h"
#include "mangrove/train/data_parallel/aggregate_key.h"
#include "mangrove/train/data_parallel/consistency.h"
#include "mangrove/train/data_parallel/data_split.h"
#include "mangrove/train/strategy_row.h"

namespace mangrove::train {
namespace {

struct Setting {
  std::string_view name;
  double low, high;
  double& (*of)(PrivacyOptions& options);
};
constexpr std::array kSettings = {
    Setting{"epsilon", 1e-3, 1e6, [](PrivacyOptions& options) -> double& { return options.budget.epsilon; }},
    Setting{"delta", 1e-15, 0.1, [](PrivacyOptions& options) -> double& { return options.budget.delta; }},
    Setting{"clip", 1e-9, 1e9, [](PrivacyOptions& options) -> double& { return options.clip; }},
    Setting{"noise", privacy::Accountant::kLeastNoise, privacy::Accountant::kMostNoise,
            [](PrivacyOptions& options) -> double& { return options.noise; }},
};

Error refuse_privacy(const std::string& why) {
  return make_error(Code::invalid_argument, "privacy: " + why);
}

/// Of "epsilon=2".
Status take(std::string_view part, PrivacyOptions& options) {
  for (const Setting& setting : kSettings) {
    if (!part.starts_with(setting.name) || !part.substr(setting.name.size()).starts_with('=')) continue;
    const std::string_view text = part.substr(setting.name.size() + 1);
    double number = 0;
    const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (code == std::errc() && stop == text.data() + text.size() && number >= setting.low && number <= setting.high) {
      setting.of(options) = number;
      return {};
    }
    return refuse_privacy(
        fmt::format("{} must be a number from {} to {}, got '{}'", setting.name, setting.low, setting.high, text));
  }
  return refuse_privacy(
      "must be none, or like epsilon=2,delta=1e-5,clip=1,noise=1.1 (clip and noise may be left out), got '" +
      std::string(part) + "'");
}

/// Where each sample is protected.
Status check_samples(const TrainJob& job) {
  if (!is_plain(job.codec()))
    return refuse_privacy("is promised of sums as they are, and codec '" + job.codec() +
                          "' changes them; use codec none");
  MG_TRY(const DataSplit split, parse_split(job.split()));
  const bool is_mixed_whole = job.shuffle().empty() || job.shuffle() == "all";
  if (split.kind != DataSplit::Kind::iid || !is_mixed_whole)
    return refuse_privacy("draws the samples of each step at random from all; use split iid and shuffle all");
  if (job.micro_batch() > 1)
    return refuse_privacy("takes the gradient of each sample by itself; use micro_batch 0 or 1, not " +
                          std::to_string(job.micro_batch()));
  return {};
}

/// Where all that a worker has is protected.
Status check_workers(const TrainJob& job) {
  MG_TRY(const DataSplit split, parse_split(job.split()));
  if (split.kind == DataSplit::Kind::iid)
    return refuse_privacy(
        "protects all that a worker has, and with split iid nobody has samples of its own; use "
        "by_size(A,B,...), by_label(K), dirichlet(A) or shards");
  if (job.shared_samples() > 0) return refuse_privacy("protects what one worker has; use shared_samples 0");
  return {};
}

}  // namespace

Result<std::optional<PrivacyOptions>> parse_privacy(const std::string& text) {
  if (text.empty() || text == "none") return std::optional<PrivacyOptions>();
  PrivacyOptions options;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    MG_RETURN_IF_ERROR(take(rest.substr(0, comma), options));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (options.budget.epsilon == 0 || options.budget.delta == 0)
    return refuse_privacy("needs epsilon and delta, like epsilon=2,delta=1e-5, got '" + text + "'");
  return std::optional(options);
}

Status check_privacy(const TrainJob& job) {
  MG_TRY(const std::optional<PrivacyOptions> options, parse_privacy(job.privacy()));
  if (!options) return {};
  const Strategy& strategy = strategy_of(job);
  if (!strategy.has_server)
    return refuse_privacy("needs a server that adds noise to the workers' sum, and strategy '" + job.strategy() +
                          "' has none; use one of " + strategies_with(&Strategy::has_server));
  MG_TRY(const Consistency consistency, parse_consistency(job.consistency()));
  if (consistency.kind != Consistency::Kind::sync)
    return refuse_privacy("is counted in steps of a sum over a random draw, and with consistency '" +
                          job.consistency() + "' the fastest make it; use sync");
  if (rule_of(job) != nullptr)
    return refuse_privacy("is promised of sums, and aggregate '" + job.aggregate() + "' makes none; use mean");
  if (data::depends_on_other_samples(job.augment()))
    return refuse_privacy("protects nobody who shows in the samples of others, and with augment '" + job.augment() +
                          "' all do (mixup, zca, and normalise without numbers); use augment without these");
  return strategy.sends_gradients ? check_samples(job) : check_workers(job);
}

Status check_private_network(const TrainJob& job, const Graph& graph) {
  if (!privacy_of(job) || graph.states().empty()) return {};
  return refuse_privacy("network '" + graph.name() + "' has running statistics ('" + graph.states().front() +
                        "' ...), which would tell of samples without noise; use a network without batch normalization");
}

std::optional<PrivacyOptions> privacy_of(const TrainJob& job) {
  return parse_privacy(job.privacy()).value();
}

bool clips_samples(const TrainJob& job) {
  return strategy_of(job).sends_gradients && privacy_of(job);
}

}  // namespace mangrove::train
