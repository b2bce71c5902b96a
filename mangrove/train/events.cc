#include "mangrove/train/events.h"

#include <fmt/format.h>

#include "mangrove/base/format.h"

namespace mangrove::train {

using job::because;

std::string WorkReassigned::sentence() const {
  return fmt::format("{} of {} go to the others at step {}{}",
                     format_things(static_cast<std::int64_t>(samples), "sample"), node, format_count(step),
                     because(reason));
}

std::string WorkerLeftOut::sentence() const {
  return node + " will get no work" + because(reason);
}

std::string WorkerBack::sentence() const {
  return node + " takes part again";
}

std::string MemoryPlanned::sentence() const {
  const bool is_whole_batch = micro_batches <= 1 && recomputed_share == 0;
  if (is_whole_batch) return "";
  std::string line = fmt::format("{} trains in {} of {} to stay within {}", node,
                                 format_things(micro_batches, "micro-batch", "micro-batches"),
                                 format_things(micro_batch, "sample"), format_bytes(predicted_peak));
  if (recomputed_share > 0)
    line += fmt::format(", recomputing {} of its activations", format_percent(recomputed_share, 0));
  return line;
}

std::string Balanced::sentence() const {
  std::vector<std::string> items;
  for (const Share& share : shares) items.push_back(fmt::format("{} {}", share.node, share.samples));
  return fmt::format("from step {} on samples are shared by speed: {}", format_count(step), job::listed(items));
}

std::string LayersDivided::sentence() const {
  if (ways == 1)
    return fmt::format("from step {} on no layers are divided: each worker sends {} a step", format_count(step),
                       format_bytes(bytes));
  const std::string many = groups > 1 ? fmt::format(", in {} groups", groups) : "";
  return fmt::format("from step {} on {} are divided by {} workers{}: each sends {} a step, in place of {}",
                     format_count(step), job::listed(layers), ways, many, format_bytes(bytes),
                     format_bytes(data_parallel_bytes));
}

std::string CodecChosen::sentence() const {
  return fmt::format("{} sends with codec {}: {}", node, codec, why);
}

std::string ShardRefused::sentence() const {
  return fmt::format("{} could not get a shard from {}{}", by, node, because(reason));
}

std::string DataIsThere::sentence() const {
  return fmt::format("{} has its training data ({} from the coordinator, {} from other nodes)", node,
                     format_things(from_coordinator, "shard"), from_nodes);
}

std::string AdviceGiven::sentence() const {
  const std::string line = advice.sentence();
  return line.empty() ? "" : "advice: " + line;
}

std::string StoppedEarly::sentence() const {
  return fmt::format("stopped after epoch {}: no better validation since epoch {} ({})", epoch, best_epoch,
                     format_percent(best_accuracy));
}

std::string SecureSumFailed::sentence() const {
  return fmt::format("no secure sum at step {}, so workers train on its samples again: {}", format_count(step), reason);
}

std::string SamplesUnlearnt::sentence() const {
  return fmt::format("{} of epoch {} made no update: they were left for fewer workers than {} needs",
                     format_things(samples, "sample"), format_count(epoch), aggregate);
}

std::string PrivacyPlanned::sentence() const {
  std::string line = fmt::format("private {}: noise of {} times {} in each step, in which each is with {}", protects,
                                 format_number(noise), format_number(clip), format_percent(rate));
  if (enough_for < steps)
    line += fmt::format("; epsilon {} is enough for {} of {}", format_number(epsilon), format_count(enough_for),
                        format_things(steps, "step"));
  if (noise_is_of_seed) line += "; noise of the seed protects from nobody who knows it";
  return line;
}

std::string BudgetSpent::sentence() const {
  return fmt::format(
      "stopped after step {} of {}: the next would cost more than the privacy budget has (epsilon {} is spent)",
      format_count(step), format_count(steps), format_number(epsilon));
}

std::string ResumedWithOtherWorkers::sentence() const {
  return fmt::format("resumed with {} a step, not {} as before: right, but not bit for bit the same",
                     format_things(samples_per_step, "sample"), format_count(samples_per_step_before));
}

std::string Recut::sentence() const {
  const std::string gain =
      expected_speedup ? fmt::format(", expected to be {:.2f}x as fast", *expected_speedup) : std::string();
  return fmt::format("from step {} on the network is cut into {}{}", format_count(step),
                     format_things(static_cast<std::int64_t>(stages), "stage"), gain);
}

}  // namespace mangrove::train
