#include "mangrove/cli/tier_job.h"

#include <random>
#include <set>
#include <vector>

#include "mangrove/cli/sources/model_source.h"
#include "mangrove/cli/sources/rewriting.h"
#include "mangrove/data/dataset.h"
#include "mangrove/exits/early_exit.h"
#include "mangrove/graph/exits.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/graph/split.h"
#include "mangrove/infer/tiers/checks.h"
#include "mangrove/infer/tiers/exits.h"
#include "mangrove/infer/tiers/tier_file.h"
#include "mangrove/privacy/split.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::cli {
namespace {

Result<Graph> network_of(const infer::TierSpec& tier, const InferSettings& settings, const data::Dataset& dataset) {
  if (is_model_file(tier.model)) return load_model(tier.model, settings.input_shape);
  zoo::ModelOptions options{.sample_shape = dataset.sample_shape(), .classes = dataset.classes()};
  if (tier.is_coarse()) {
    if (dataset.coarse() == nullptr)
      return make_error(Code::invalid_argument, "labels are coarse, and the data has no coarse classes");
    options.classes = static_cast<std::int64_t>(dataset.coarse()->names.size());
  }
  return zoo::build_model(tier.model, options);
}

/// What messages call a tier of the file.
std::string tier_name(const InferSettings& settings, const infer::TierSpec& tier) {
  return settings.tiers + ": tier '" + std::string(infer::kTierNames[static_cast<std::size_t>(tier.tier)]) + "'";
}

/// That of a tier with a network of its own gives one answer.
Status check_single_exit(const std::vector<infer::TierSpec>& tiers, const Graph& graph) {
  if (tiers.front().exits > 0 || !has_early_exits(graph)) return {};
  return make_error(Code::invalid_argument, "network '" + graph.name() +
                                                "' has early exits: give the section 'end' the key 'exits', to have "
                                                "one such network over all tiers");
}

/// When samples leave the network of all tiers, where there is one.
Status add_exits(const std::vector<infer::TierSpec>& tiers, const Graph& graph, const InferSettings& settings,
                 infer::InferJob& job) {
  const std::int64_t exits = tiers.front().exits;
  if (exits == 0 && settings.exit_thresholds.empty()) return {};
  if (exits == 0)
    return make_error(Code::invalid_argument,
                      "exit_thresholds: are for tiers of one network, whose section 'end' has the key 'exits'");
  if (!has_early_exits(graph))
    return make_error(Code::invalid_argument, "key 'exits': network '" + graph.name() + "' has no early exits");
  if (settings.exit_thresholds == "none")
    return make_error(Code::invalid_argument,
                      "exit_thresholds: 'none' is not possible with the key 'exits': by thresholds end devices decide "
                      "which images go up");
  MG_TRY(const auto thresholds, exits::choose_exit_thresholds(settings.exit_thresholds, graph));
  if (!thresholds)
    return make_error(
        Code::invalid_argument,
        "key 'exits': there are no thresholds: neither --exit-thresholds nor, from `mangrove tune-exits`, "
        "in the network's file");
  job.mutable_exit_thresholds()->Add(thresholds->begin(), thresholds->end());
  return {};
}

/// In two parts where the tier's devices are not trusted.
Status add_network(const infer::TierSpec& tier, const Graph& graph, const std::set<std::string>& disabled,
                   infer::InferJob& job) {
  std::string &bottom = *job.add_bottom_models(), &noise = *job.add_noises();
  if (tier.trusted || infer::has_tier_exits(job)) {
    MG_TRY(const Graph whole, rewritten_for_inference(graph, disabled));
    job.add_members(encode_onnx(whole));
    return {};
  }
  MG_TRY(const privacy::PrivacySetting privacy, privacy::parse_privacy(tier.privacy));
  MG_TRY(const GraphHalves halves, privacy::split_for_privacy(graph, privacy.layer).context("key 'privacy'"));
  MG_TRY(const Graph front, rewritten_for_inference(halves.front, disabled));
  MG_TRY(const Graph back, rewritten_for_inference(halves.back, disabled));
  if (!privacy.trained.empty()) {
    MG_TRY(noise, read_file(privacy.trained).context("key 'privacy': trained"));
  }
  bottom = encode_onnx(front);
  job.add_members(encode_onnx(back));
  return {};
}

/// One that nobody can foretell, and not 0.
std::uint64_t fresh_seed() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32 | device()) | 1;
}

}  // namespace

Result<std::int64_t> add_tiers(const InferSettings& settings, const std::string& data, const fs::path& data_folder,
                               infer::InferJob& job) {
  MG_TRY(const std::vector<infer::TierSpec> tiers, infer::load_tiers(settings.tiers));
  MG_TRY(const auto dataset, data::open_dataset(data, data::Split::test, data_folder));
  MG_TRY(const std::set<std::string> disabled, parse_pass_names(settings.disable_pass));
  job.set_strategy(strategy_of_tier_file());
  for (const infer::TierSpec& tier : tiers) {
    const std::string who = tier_name(settings, tier);
    MG_TRY(const Graph graph, network_of(tier, settings, *dataset).context(who));
    MG_RETURN_IF_ERROR(check_single_exit(tiers, graph).context(who));
    infer::TierPart& part = *job.add_tiers();
    part.set_name(std::string(infer::kTierNames[static_cast<std::size_t>(tier.tier)]));
    part.set_devices(static_cast<std::int32_t>(tier.count));
    part.set_coarse(tier.is_coarse());
    part.set_trusted(tier.trusted);
    part.set_privacy(tier.privacy);
    part.set_accuracy(tier.accuracy);
    part.set_delay_s(tier.delay);
    part.set_rate(tier.rate);
    part.set_exits(static_cast<std::int32_t>(tier.exits));
    if (tier.tier == infer::Tier::end) MG_RETURN_IF_ERROR(add_exits(tiers, graph, settings, job).context(who));
    MG_RETURN_IF_ERROR(add_network(tier, graph, disabled, job).context(who));
  }
  job.set_noise_seed(fresh_seed());
  MG_RETURN_IF_ERROR(infer::check_tiers(job));
  return infer::device_count(tiers);
}

Status check_tier_file(const InferSettings& settings) {
  MG_TRY(const std::vector<infer::TierSpec> tiers, infer::load_tiers(settings.tiers));
  for (const infer::TierSpec& tier : tiers) {
    const std::string who = tier_name(settings, tier);
    if (is_model_file(tier.model)) {
      MG_RETURN_IF_ERROR(load_model(tier.model, settings.input_shape).context(who));
    } else {
      MG_RETURN_IF_ERROR(zoo::check_model_name(tier.model).context(who));
    }
  }
  return {};
}

}  // namespace mangrove::cli
