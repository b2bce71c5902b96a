#include "mangrove/train/pipeline/settings.h"

#include <algorithm>

#include "mangrove/base/call_syntax.h"
#include "mangrove/train/compression/uplink_codec.h"
#include "mangrove/train/pipeline/schedule.h"
#include "mangrove/train/strategy_row.h"

namespace mangrove::train {
namespace {

constexpr std::int64_t kMicroBatchesPerStage = 4;

Error refused(const TrainJob& job, const std::string& key, const std::string& why) {
  return make_error(Code::invalid_argument, key + ": not with strategy '" + job.strategy() + "': " + why);
}

}  // namespace

Status check_pipeline(const TrainJob& job, const Hyperparameters& recipe) {
  MG_RETURN_IF_ERROR(parse_cut(job.cut()));
  MG_RETURN_IF_ERROR(parse_recompute(job.recompute()));
  if (job.micro_batches() > job.batch())
    return make_error(Code::invalid_argument, "micro_batches: must be at most the batch, " +
                                                  std::to_string(job.batch()) + ", got " +
                                                  std::to_string(job.micro_batches()));
  const PipelineSchedule* schedule = strategy_of(job).pipeline;
  if (schedule == nullptr) return {};
  if (schedule->is_stashing && job.micro_batches() > 1)
    return refused(job, "micro_batches", "each mini-batch is one update; use a smaller batch");
  if (schedule->is_stashing && job.replicas() != 1)
    return refused(job, "replicas", "replicas would have to agree on older parameters too; use one_f_one_b");
  if (job.replicas() != 1 && (job.stages() > 0 || argument_of(job.cut(), "behind")))
    return refused(job, "replicas",
                   "which stages have replicas is planned with the stages; leave out stages and behind(...)");
  if (job.micro_batch() > 0) return refused(job, "micro_batch", "say micro_batches, the parts of a batch");
  if (job.balance() == "speed") return refused(job, "balance", "stages are cut by measured cost");
  if (!is_plain(job.codec()) || !is_plain(job.downlink_codec()))
    return refused(job, "codec", "activations go as they are");
  if (!job.consistency().empty() && job.consistency() != "sync")
    return refused(job, "consistency", "the schedule says what is waited for");
  if (!job.split().empty() && job.split() != "iid") return refused(job, "split", "the first stage reads all samples");
  if (recipe.ema_decay > 0) return refused(job, "ema_decay", "no device has all updates to average");
  if (recipe.optimizer.clip_norm > 0) return refused(job, "clip_norm", "no device has the gradients of all stages");
  return {};
}

Result<CutRule> parse_cut(const std::string& text) {
  if (text.empty() || text == "measured") return CutRule{};
  if (text == "flops") return CutRule{CutRule::Kind::flops};
  if (const auto names = argument_of(text, "behind")) {
    CutRule rule{CutRule::Kind::behind};
    for (std::size_t begin = 0; begin <= names->size();) {
      const std::size_t end = std::min(names->find(',', begin), names->size());
      rule.nodes.emplace_back(names->substr(begin, end - begin));
      begin = end + 1;
    }
    const auto is_empty = [](const std::string& name) { return name.empty(); };
    if (std::none_of(rule.nodes.begin(), rule.nodes.end(), is_empty)) return rule;
  }
  return make_error(Code::invalid_argument,
                    "cut: must be measured, flops or behind(NODE,NODE,...), got '" + text + "'");
}

Result<Stage::Recompute> parse_recompute(const std::string& text) {
  if (text.empty() || text == "auto") return Stage::Recompute::where_needed;
  if (text == "always") return Stage::Recompute::always;
  if (text == "never") return Stage::Recompute::never;
  return make_error(Code::invalid_argument, "recompute: must be auto, always or never, got '" + text + "'");
}

std::int64_t pipeline_micro_batch(const TrainJob& job, std::size_t stages) {
  if (strategy_of(job).pipeline->is_stashing) return job.batch();
  const std::int64_t wanted =
      job.micro_batches() > 0 ? job.micro_batches() : kMicroBatchesPerStage * static_cast<std::int64_t>(stages);
  return (job.batch() + wanted - 1) / wanted;
}

}  // namespace mangrove::train
