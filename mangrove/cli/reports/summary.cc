#include "mangrove/cli/reports/summary.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "mangrove/base/format.h"
#include "mangrove/cli/reports/confusion_report.h"
#include "mangrove/cli/reports/event_text.h"
#include "mangrove/cli/reports/exits_report.h"
#include "mangrove/cli/reports/run_results.h"
#include "mangrove/cli/reports/wrapped_text.h"

namespace mangrove::cli {
namespace {

constexpr std::size_t kMostRows = 64;  // nodes, and events: a simulated world may have thousands

std::string row(const std::string& name, const std::string& value) {
  return fmt::format("  {:<26} {}\n", name, value);
}

/// A mean of bytes.
std::string mean_bytes(double bytes) {
  return format_bytes(static_cast<Bytes>(std::llround(bytes)));
}

std::string latency_text(const infer::Latency& latency) {
  return fmt::format("{} / {} / {}", format_seconds(latency.p50), format_seconds(latency.p95),
                     format_seconds(latency.p99));
}

/// The data set, or what the images came from.
std::string data_of(const RunFacts& facts) {
  return facts.data ? *facts.data : facts.input.value_or("?");
}

/// That another data set was used than the one that was wanted: its accuracy says nothing of that.
std::string fallback_row(const RunFacts& facts) {
  if (!facts.in_place_of) return "";
  return row("NOT " + *facts.in_place_of,
             fmt::format("{0} could not be had, so this is {1}: its accuracy says nothing of {0}", *facts.in_place_of,
                         data_of(facts)));
}

/// accuracy: nothing of a simulated job whose computing was modelled.
std::string accuracy_rows(const std::optional<double>& accuracy, const std::optional<double>& macro_f1) {
  if (!accuracy) return "";
  const std::string text = row("top-1 accuracy", format_percent(*accuracy));
  return macro_f1 ? text + row("macro F1", format_percent(*macro_f1)) : text;
}

std::string node_rows(const RunFacts& facts) {
  std::string text = fmt::format("  {:<14} {:>8} {:>10} {:>10} {:>10}\n", "node", "cpu", "memory", "sent", "received");
  std::size_t rows = 0;
  const auto nodes = facts.nodes.value_or(std::vector<cluster::NodeUsage>());
  for (const cluster::NodeUsage& n : nodes) {
    if (++rows > kMostRows)
      return text + row("...", fmt::format("and {} more in summary.json",
                                           format_count(std::ssize(nodes) - static_cast<std::int64_t>(kMostRows))));
    text += fmt::format("  {:<14} {:>8} {:>10} {:>10} {:>10}\n", n.name, format_percent(n.cpu_percent / 100, 1),
                        format_bytes(n.rss_bytes), format_bytes(n.sent_bytes), format_bytes(n.received_bytes));
  }
  return text;
}

std::string event_rows(const RunFacts& facts) {
  std::string text;
  std::size_t rows = 0;
  const auto events = facts.events.value_or(std::vector<job::Json>());
  for (const job::Json& entry : events) {
    const EventText event = event_text(entry);
    if (event.is_advice || event.line.empty()) continue;  // advice has a row of its own
    if (++rows > kMostRows)
      return text + row("...", format_things(std::ssize(events), "event") + " in all: see summary.json");
    text += row(event.time ? "after " + format_seconds(*event.time) : "event", event.line);
  }
  return text;
}

/// What the first phase of transfer learning came to.
std::string head_row(const train::TrainResult& head) {
  return row("the new head alone",
             fmt::format("{} after {}, {}", format_percent(head.accuracy.value_or(0)),
                         format_things(head.epochs, "epoch"), format_seconds(head.train_seconds)));
}

/// The first and the last of many.
std::string operators_text(const std::vector<std::string>& names) {
  constexpr std::size_t kFew = 4;
  if (names.size() <= kFew) return fmt::format("{}", fmt::join(names, " "));
  return fmt::format("{} .. {} ({})", names.front(), names.back(), names.size());
}

/// Of columns whose heading says "(predicted)".
std::string beside(const std::string& measured, const std::string& predicted) {
  return fmt::format("{} ({})", measured, predicted);
}

/// The row of a table with the operators of a stage in its last column.
std::string row_with_operators(const std::string& start, const std::vector<std::string>& operators) {
  return start + wrapped(operators_text(operators), start.size());
}

/// Of pipelined training: times in a first table, sizes in a second, so that both fit into 80 columns.
std::string trained_stage_rows(const std::vector<train::TrainedStage>& stages) {
  std::string times = fmt::format("  {:<5} {:<12} {:>9} {:>9} {:>18} {:>19}\n", "stage", "node", "forward", "backward",
                                  "busy (predicted)", "idle (predicted)");
  std::string sizes =
      fmt::format("  {:<5} {:<12} {:>9} {:>12}  {}\n", "stage", "node", "in flight", "parameters", "operators");
  for (const train::TrainedStage& s : stages) {
    const std::string busy = format_seconds(s.busy);
    times += fmt::format("  {:<5} {:<12} {:>9} {:>9} {:>18} {:>19}\n", s.stage + 1, s.node, format_seconds(s.forward),
                         format_seconds(s.backward),
                         s.predicted_busy ? beside(busy, format_seconds(*s.predicted_busy)) : busy,
                         beside(format_percent(s.idle), format_percent(s.predicted_idle)));
    sizes += row_with_operators(fmt::format("  {:<5} {:<12} {:>9} {:>12}  ", s.stage + 1, s.node, s.in_flight,
                                            format_count(static_cast<std::int64_t>(s.parameters))),
                                s.operators);
  }
  return times + sizes;
}

/// "4 workers x 64 samples, 1 epoch"
std::string training_text(const train::TrainResult& r) {
  return fmt::format("{}{} {}, {}", format_things(r.workers, "worker"), r.stages ? " together" : " x",
                     format_things(r.batch, "sample"), format_things(r.epochs, "epoch"));
}

/// Nodes that share a machine slow each other down: what is advised of those says little.
std::string advice_row(const train::TrainResult& r, const RunFacts& facts) {
  if (!r.advice || facts.is_embedded.value_or(false)) return "";
  const std::string line = r.advice->sentence();
  return line.empty() ? "" : row("advice", line);
}

/// What was promised of the network, and what of that its training has spent.
std::string privacy_row(const train::PrivacyReport& p) {
  const std::string limit = p.noise_is_of_seed ? "; nothing for those who know the seed" : "";
  return row("privacy of " + p.protects, fmt::format("epsilon {} of {} spent, delta {:g}{}", format_number(p.epsilon),
                                                     format_number(p.budget), p.delta, limit));
}

std::string train_table(const train::TrainResult& r, const RunFacts& facts,
                        const std::optional<train::TrainResult>& head) {
  std::string text =
      fmt::format("Training: {} on {}, {}\n", facts.model.value_or("?"), data_of(facts), training_text(r));
  text += fallback_row(facts) + accuracy_rows(r.accuracy, r.macro_f1);
  if (head) text += head_row(*head);
  if (r.best_epoch)
    text += row("best validation", fmt::format("{} after epoch {} (best.onnx)",
                                               format_percent(r.best_validation_accuracy.value_or(0)), *r.best_epoch));
  if (r.exit_accuracy) {
    std::vector<std::string> texts;
    for (const double accuracy : *r.exit_accuracy) texts.push_back(format_percent(accuracy));
    text += row("accuracy at exits", fmt::format("{}", fmt::join(texts, " / ")));
  }
  if (r.privacy) text += privacy_row(*r.privacy);
  text += row("training time", format_seconds(r.train_seconds));
  text += row("training speed", format_rate(r.images_per_s));
  text += advice_row(r, facts);
  if (r.stages) text += trained_stage_rows(*r.stages);
  text += node_rows(facts) + event_rows(facts);
  return r.confusion ? text + confusion_text(r.classes, *r.confusion) : text;
}

/// Of a pipeline, in two tables as well. Busy: the time for a micro-batch; memory: that of the node's process.
std::string stage_rows(const std::vector<infer::StageReport>& stages) {
  std::string times = fmt::format("  {:<5} {:<12} {:>18} {:>23} {:>16}\n", "stage", "node", "busy (predicted)",
                                  "utilisation (predicted)", "queue mean / max");
  std::string sizes = fmt::format("  {:<5} {:<12} {:>19} {:>14}  {}\n", "stage", "node", "memory (predicted)",
                                  "sent per image", "operators");
  for (const infer::StageReport& s : stages) {
    times += fmt::format("  {:<5} {:<12} {:>18} {:>23} {:>16}\n", s.stage + 1, s.node,
                         beside(format_seconds(s.busy), format_seconds(s.predicted_busy)),
                         beside(format_percent(s.utilisation), format_percent(s.predicted_utilisation)),
                         fmt::format("{:.1f} / {}", s.queue_mean, s.queue_max));
    sizes += row_with_operators(fmt::format("  {:<5} {:<12} {:>19} {:>14}  ", s.stage + 1, s.node,
                                            beside(format_bytes(s.resident), format_bytes(s.predicted_resident)),
                                            format_bytes(s.bytes_per_image)),
                                s.operators);
  }
  return times + sizes;
}

/// The devices that have no stage.
std::string unused_row(const std::vector<infer::DeviceReport>& devices) {
  std::vector<std::string> names;
  for (const infer::DeviceReport& device : devices)
    if (device.stages.empty()) names.push_back(device.node);
  return names.empty() ? "" : row("without a stage", fmt::format("{}", fmt::join(names, " ")));
}

std::string lost_row(std::int64_t lost, std::int64_t duplicated) {
  return row("lost / answered twice", fmt::format("{} / {}", format_count(lost), format_count(duplicated)));
}

/// What spot checks have found.
std::string trust_row(const infer::TrustReport& r) {
  std::string text = fmt::format("{} with {}, {}", format_things(r.checks, "check"), r.compared_with,
                                 format_things(r.disputes, "dispute"));
  for (const infer::TrustReport::Device& device : r.devices)
    if (device.quarantined)
      text += fmt::format("; {} is quarantined ({} of {} wrong)", device.node, format_count(device.wrong),
                          format_count(device.checks));
  if (r.redone + r.in_doubt > 0)
    text += fmt::format("; {} done again", format_things(r.redone, "micro-batch", "micro-batches"));
  if (r.in_doubt > 0) text += fmt::format(", {} in doubt", format_count(r.in_doubt));
  return row("spot checks", text);
}

/// Of what streamed through nodes. with: "pipeline".
std::string single_row(const infer::StreamedResult& r, const char* with) {
  const auto single = r.single_images_per_s;
  if (!single) return "";
  return row("fastest node alone", fmt::format("{} ({}: {:.2f}x)", format_rate(*single), with,
                                               *single > 0 ? r.all.images_per_s / *single : 0.0));
}

std::string activations_row(const infer::SentActivations& activations) {
  if (activations.encoding == "float32") return "";
  return row("activations as " + activations.encoding,
             fmt::format("{} saved, {} of the answers changed", format_bytes(activations.saved_bytes),
                         format_percent(activations.changed_predictions.value_or(0))));
}

std::string missed_rows(const infer::StreamedResult& r) {
  std::string text;
  if (r.unreadable.value_or(0) > 0) text += row("not readable as images", format_count(*r.unreadable));
  if (r.missed > 0) text += row("missed their deadline", format_things(r.missed, "image"));
  return text;
}

std::string pipeline_rows(const infer::PipelineResult& r) {
  std::string text =
      row("predicted speed", fmt::format("{}, limited by {}", format_rate(r.predicted_images_per_s), r.limited_by));
  text += single_row(r, "pipeline") + row("latency p50 / p95 / p99", latency_text(r.latency));
  if (r.agreement) text += row("same answer as one node", format_percent(*r.agreement));
  text += activations_row(r.activations);
  if (r.lost) text += lost_row(*r.lost, r.duplicated.value_or(0));
  if (r.trust) text += trust_row(*r.trust);
  return text + missed_rows(r) + stage_rows(r.stages) + unused_row(r.devices);
}

/// "rows 0-55, columns 0-27", or "all of it".
std::string region_text(const std::vector<std::int64_t>& region) {
  if (region.size() != 4) return "all of it";
  return fmt::format("rows {}-{}, columns {}-{}", region[0], region[2] - 1, region[1], region[3] - 1);
}

/// Blocks of operators, and who computes which part of what they make.
std::string team_rows(const infer::TileTeamReport& team, std::size_t number) {
  std::string text = row(fmt::format("team {}", number),
                         fmt::format("{} has the samples; {:.2f} times the network's work, {} sent for a micro-batch",
                                     team.source, team.work, format_bytes(team.sent_bytes)));
  text += fmt::format("    {:<12} {:>18}  {}\n", "node", "busy (predicted)", "tile");
  for (std::size_t b = 0; b < team.blocks.size(); ++b) {
    const infer::TileBlockReport& block = team.blocks[b];
    text += fmt::format("  block {}: {} .. {} ({})\n", b + 1, block.first, block.last, block.operators);
    for (const infer::TileBlockReport::Tile& tile : block.tiles)
      text +=
          fmt::format("    {:<12} {:>18}  {}\n", tile.node,
                      beside(format_seconds(tile.busy), format_seconds(tile.predicted_busy)), region_text(tile.region));
  }
  return text;
}

std::string tile_rows(const infer::TilesResult& r) {
  std::string text = row("latency p50 / p95 / p99", latency_text(r.latency)) +
                     row("predicted latency", format_seconds(r.predicted_latency));
  if (r.single_latency)
    text += row("one node alone", fmt::format("{} (tiles: {:.2f}x as soon)", format_seconds(*r.single_latency),
                                              r.latency_speedup.value_or(0)));
  text += row("predicted speed", format_rate(r.predicted_images_per_s)) + single_row(r, "tiles");
  if (r.agreement) text += row("same answer as one node", format_percent(*r.agreement));
  text += activations_row(r.activations);
  if (r.lost) text += lost_row(*r.lost, r.duplicated.value_or(0));
  text += missed_rows(r);
  for (std::size_t t = 0; t < r.teams.size(); ++t) text += team_rows(r.teams[t], t + 1);
  return text;
}

/// The networks of an ensemble.
std::string ensemble_rows(const infer::EnsembleResult& r) {
  std::string text;
  for (const infer::EnsembleResult::Member& member : r.members)
    text += row("network on " + member.node,
                fmt::format("{}: {}", format_seconds(member.seconds), operators_text(member.classes)));
  if (!r.claims) return text;
  return text + row("claimed by one / none / more",
                    fmt::format("{} / {} / {}", format_count(r.claims->one), format_count(r.claims->none),
                                format_things(r.claims->several, "image")));
}

/// Where images left a network with early exits.
std::string exit_rows(const std::vector<infer::ExitReport>& exits) {
  std::string text;
  for (const infer::ExitReport& exit : exits)
    text += row(fmt::format("left at exit {}{}", exit.exit, exit.answer ? " (" + *exit.answer + ")" : ""),
                fmt::format("{} ({}), {} right", format_things(exit.images, "image"), format_percent(exit.share),
                            exit.accuracy ? format_percent(*exit.accuracy) : "-"));
  return text;
}

/// Of a network that lies over tiers.
std::string tier_exit_rows(const infer::TiersResult& r) {
  if (!r.exits || !r.sent_up) return "";
  std::string text = exit_rows(*r.exits);
  for (const infer::TiersResult::SentUp& link : *r.sent_up)
    text += row(fmt::format("sent up for {} answers", link.answer),
                fmt::format("{}, {} an image on average; a sample: {}", format_bytes(link.bytes),
                            mean_bytes(link.bytes_per_image), format_bytes(r.sample_bytes.value_or(0))));
  return text;
}

/// What each tier answered, and how that was done.
std::string tier_rows(const infer::TiersResult& r) {
  std::string text;
  if (r.coarse_accuracy) text += row("of coarse classes", format_percent(*r.coarse_accuracy));
  text += row("scheduler " + r.scheduler,
              fmt::format("{} an image, {} in all (predicted: {})", format_seconds(r.image_seconds),
                          format_seconds(r.all.seconds), format_seconds(r.predicted_seconds)));
  text += row("policy " + r.policy, fmt::format("{} given again, {} stolen, {} copied, {} answered again",
                                                format_things(r.given_again, "task"), format_count(r.stolen),
                                                format_count(r.copied), format_count(r.repeated)));
  text += lost_row(r.lost, r.duplicated);
  text += fmt::format("  {:<5} {:<7} {:>6} {:>8} {:>9} {:>9} {:>28}\n", "tier", "labels", "tasks", "images", "accuracy",
                      "coarse", "latency p50 / p95 / p99");
  for (const infer::TiersResult::Tier& t : r.tiers) {
    const auto share = [&](const std::optional<double>& value) {
      return t.tasks > 0 && value ? format_percent(*value) : "-";
    };
    text += fmt::format("  {:<5} {:<7} {:>6} {:>8} {:>9} {:>9} {:>28}\n", t.tier, t.labels, format_count(t.tasks),
                        format_count(t.images), share(t.accuracy), share(t.coarse_accuracy),
                        t.tasks > 0 ? latency_text(t.latency) : "-");
  }
  for (const infer::TiersResult::Tier& t : r.tiers)
    if (t.privacy)
      text += row("  " + t.tier + ": not trusted", fmt::format("{}: {} a task on the coordinator, {} sent for an image",
                                                               *t.privacy, format_seconds(t.bottom_seconds.value_or(0)),
                                                               format_bytes(t.bytes_per_image.value_or(0))));
  return text + tier_exit_rows(r);
}

/// Of a network over devices with a view each.
std::string view_rows(const infer::ViewsResult& r) {
  std::string text = exit_rows(r.exits);
  text += row("sent up for an image",
              fmt::format("{} of scores, {} of features; a sample: {}", mean_bytes(r.score_bytes_per_image),
                          mean_bytes(r.feature_bytes_per_image), format_bytes(r.sample_bytes)));
  text += lost_row(r.lost, r.duplicated);
  for (const infer::ViewsResult::View& view : r.views)
    text +=
        row(fmt::format("view {} on {}", view.view, view.node),
            fmt::format("missing in {} of {}{}", format_count(view.micro_batches_without),
                        format_things(r.micro_batches, "micro-batch", "micro-batches"), view.is_lost ? ", lost" : ""));
  for (const infer::ViewsResult::Upper& upper : r.upper)
    text += row("behind exit 1, " + upper.node.value_or("the coordinator"),
                fmt::format("{} in {}", format_things(upper.images, "image"),
                            format_things(upper.micro_batches, "micro-batch", "micro-batches")));
  return text;
}

std::string infer_table(const InferOutcome& r, const RunFacts& facts) {
  std::string text = fmt::format("Inference: {}, {} of {}, {} at once\n", r.all.strategy,
                                 format_things(r.all.images, "image"), data_of(facts), format_count(r.all.micro_batch));
  text += fallback_row(facts) + accuracy_rows(r.all.accuracy, r.all.macro_f1);
  text += row("speed", fmt::format("{} ({})", format_rate(r.all.images_per_s), format_seconds(r.all.seconds)));
  if (r.single) text += row("on", r.single->node);
  if (r.pipeline) text += pipeline_rows(*r.pipeline);
  if (r.ensemble) text += ensemble_rows(*r.ensemble);
  if (r.tiers) text += tier_rows(*r.tiers);
  if (r.views) text += view_rows(*r.views);
  if (r.tiles) text += tile_rows(*r.tiles);
  return text + event_rows(facts);
}

std::string eval_table(const EvalReport& r, const std::optional<ExitsReport>& exits, const RunFacts& facts) {
  std::string text = fmt::format("Evaluation: {} on {} of {}\n", r.model, format_things(r.images, "image"), r.data);
  text += fallback_row(facts) + accuracy_rows(r.accuracy, r.macro_f1) + row("speed", format_rate(r.images_per_s));
  if (exits) text += exit_rows(*exits);
  return text + confusion_text(r.classes, r.confusion);
}

}  // namespace

std::string summary_table(const nlohmann::json& results) {
  const RunResults run(results);
  std::string text;
  if (run.train) text += train_table(*run.train, run.train_facts, run.head);
  if (run.eval) text += eval_table(*run.eval, run.eval_exits, run.eval_facts);
  if (run.infer) text += infer_table(*run.infer, run.infer_facts);
  for (const std::string& why : run.unreadable) text += "Not readable here: " + why + "\n";
  return text;
}

}  // namespace mangrove::cli
