#include "mangrove/cli/reports/summary.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "mangrove/base/units.h"
#include "mangrove/cli/reports/exits_report.h"
#include "mangrove/cli/reports/progress.h"
#include "mangrove/learn/metrics.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kMostRows = 64;  // nodes, and events: a simulated world may have thousands

std::string row(const std::string& name, const std::string& value) {
  return fmt::format("  {:<26} {}\n", name, value);
}

std::string percent(double share) {
  return fmt::format("{:.2f} %", 100 * share);
}

std::string accuracy_rows(const json& r) {
  if (!r.contains("accuracy")) return "";  // of a simulated job whose computing was modelled
  const std::string text = row("top-1 accuracy", percent(r.value("accuracy", 0.0)));
  return r.contains("macro_f1") ? text + row("macro F1", percent(r.value("macro_f1", 0.0))) : text;
}

std::string confusion_rows(const json& r) {
  if (!r.contains("confusion")) return "";
  const auto names = r.value("classes", std::vector<std::string>());
  std::vector<std::int64_t> counts;
  for (const json& line : r.value("confusion", json::array()))
    for (const json& count : line) counts.push_back(count.get<std::int64_t>());
  const auto matrix = learn::ConfusionMatrix::from_counts(static_cast<std::int32_t>(names.size()), std::move(counts));
  return matrix.ok() ? "  confusion matrix (rows: truth, columns: prediction)\n" + matrix->to_string(names) : "";
}

std::string node_rows(const json& r) {
  std::string text = fmt::format("  {:<14} {:>8} {:>10} {:>10} {:>10}\n", "node", "cpu", "memory", "sent", "received");
  std::size_t rows = 0;
  const json nodes = r.value("nodes", json::array());
  for (const json& n : nodes) {
    if (++rows > kMostRows)
      return text + row("...", fmt::format("and {} more in summary.json", nodes.size() - kMostRows));
    text += fmt::format("  {:<14} {:>6.1f} % {:>10} {:>10} {:>10}\n", n.value("name", "?"), n.value("cpu_percent", 0.0),
                        format_bytes(n.value("rss_bytes", Bytes{0})), format_bytes(n.value("sent_bytes", Bytes{0})),
                        format_bytes(n.value("received_bytes", Bytes{0})));
  }
  return text;
}

std::string event_rows(const json& r) {
  std::string text;
  std::size_t rows = 0;
  const json events = r.value("events", json::array());
  for (const json& event : events) {
    if (event.value("event", "") == "advice") continue;  // that has a row of its own
    if (++rows > kMostRows) return text + row("...", fmt::format("{} events in all: see summary.json", events.size()));
    text += row("event", event.dump());
  }
  return text;
}

/// What the first phase of transfer learning came to.
std::string head_row(const json& head) {
  return row("the new head alone",
             fmt::format("{} after {} epoch(s), {}", percent(head.value("accuracy", 0.0)), head.value("epochs", 0),
                         format_seconds(head.value("train_seconds", 0.0))));
}

/// Of pipelined training.
std::string trained_stage_rows(const json& r) {
  if (!r.contains("stages")) return "";
  std::string text = fmt::format("  {:<6} {:<10} {:>9} {:>9} {:>9} {:>9} {:>10} {:>10} {:>10} {:>10}  {}\n", "stage",
                                 "node", "forward", "backward", "busy", "predicted", "idle", "predicted", "in flight",
                                 "parameters", "operators");
  for (const json& s : r["stages"]) {
    const auto operators = s.value("operators", std::vector<std::string>());
    const json predicted = s.value("predicted_busy_s", json());
    const std::string range =
        operators.empty() ? "" : operators.front() + (operators.size() > 1 ? " ... " + operators.back() : "");
    text +=
        fmt::format("  {:<6} {:<10} {:>9} {:>9} {:>9} {:>9} {:>10} {:>10} {:>10} {:>10}  {}\n", s.value("stage", 0) + 1,
                    s.value("node", "?"), format_seconds(s.value("forward_s", 0.0)),
                    format_seconds(s.value("backward_s", 0.0)), format_seconds(s.value("busy_s", 0.0)),
                    predicted.is_number() ? format_seconds(predicted.get<double>()) : "", percent(s.value("idle", 0.0)),
                    percent(s.value("predicted_idle", 0.0)), s.value("in_flight", 0), s.value("parameters", 0), range);
  }
  return text;
}

std::string train_table(const json& r) {
  const char* const workers = r.contains("stages") ? "{} on {}, {} workers together {} samples, {} epoch(s)\n"
                                                   : "{} on {}, {} workers x {} samples, {} epoch(s)\n";
  std::string text = "Training: " + fmt::format(fmt::runtime(workers), r.value("model", "?"), r.value("data", "?"),
                                                r.value("workers", 0), r.value("batch", 0), r.value("epochs", 0));
  text += accuracy_rows(r);
  if (r.contains("head")) text += head_row(r["head"]);
  if (r.contains("best_epoch"))
    text += row("best validation",
                fmt::format("{} after epoch {} (best.onnx)", percent(r.value("best_validation_accuracy", 0.0)),
                            r.value("best_epoch", 0)));
  if (const auto exits = r.value("exit_accuracy", std::vector<double>()); !exits.empty()) {
    std::vector<std::string> texts;
    for (const double accuracy : exits) texts.push_back(percent(accuracy));
    text += row("accuracy at exits", fmt::format("{}", fmt::join(texts, " / ")));
  }
  text += row("training time", format_seconds(r.value("train_seconds", 0.0)));
  text += row("training images/s", fmt::format("{:.0f}", r.value("images_per_s", 0.0)));
  if (r.contains("advice")) text += row("advice", advice_line(r["advice"]));
  return text + trained_stage_rows(r) + node_rows(r) + event_rows(r) + confusion_rows(r);
}

/// The first and the last of many.
std::string operators_text(const std::vector<std::string>& names) {
  constexpr std::size_t kFew = 4;
  if (names.size() <= kFew) return fmt::format("{}", fmt::join(names, " "));
  return fmt::format("{} .. {} ({})", names.front(), names.back(), names.size());
}

/// Busy: for a micro-batch; memory: of the node's process; in brackets what was predicted.
std::string stage_rows(const json& r) {
  std::string text = fmt::format("  {:<6} {:<10} {:>20} {:>20} {:>18} {:>15} {:>12}  {}\n", "stage", "node", "busy",
                                 "utilisation", "memory", "queue mean/max", "bytes/image", "operators");
  for (const json& s : r.value("stages", json::array())) {
    const auto beside = [](const std::string& measured, const std::string& predicted) {
      return fmt::format("{} ({})", measured, predicted);
    };
    text += fmt::format(
        "  {:<6} {:<10} {:>20} {:>20} {:>18} {:>15} {:>12}  {}\n", s.value("stage", 0) + 1, s.value("node", "?"),
        beside(format_seconds(s.value("busy_s", 0.0)), format_seconds(s.value("predicted_busy_s", 0.0))),
        beside(percent(s.value("utilisation", 0.0)), percent(s.value("predicted_utilisation", 0.0))),
        beside(format_bytes(s.value("rss_bytes", Bytes{0})), format_bytes(s.value("predicted_rss_bytes", Bytes{0}))),
        fmt::format("{:.1f} / {}", s.value("queue_mean", 0.0), s.value("queue_max", 0)),
        fmt::format("{:.0f}", s.value("bytes_per_image", 0.0)),
        operators_text(s.value("operators", std::vector<std::string>())));
  }
  return text;
}

/// The devices that have no stage.
std::string unused_row(const json& r) {
  std::vector<std::string> names;
  for (const json& device : r.value("devices", json::array()))
    if (device.value("stages", json::array()).empty()) names.push_back(device.value("node", "?"));
  return names.empty() ? "" : row("without a stage", fmt::format("{}", fmt::join(names, " ")));
}

std::string pipeline_rows(const json& r) {
  const double rate = r.value("images_per_s", 0.0), single = r.value("single_images_per_s", 0.0);
  const json latency = r.value("latency", json::object()), activations = r.value("activations", json::object());
  std::string text =
      row("predicted images/s",
          fmt::format("{:.4g}, limited by {}", r.value("predicted_images_per_s", 0.0), r.value("limited_by", "?")));
  if (r.contains("single_images_per_s"))
    text += row("fastest node images/s",
                fmt::format("{:.4g} (pipeline: {:.2f} x)", single, single > 0 ? rate / single : 0.0));
  text += row("latency p50 / p95 / p99",
              fmt::format("{} / {} / {}", format_seconds(latency.value("p50_s", 0.0)),
                          format_seconds(latency.value("p95_s", 0.0)), format_seconds(latency.value("p99_s", 0.0))));
  if (r.contains("agreement")) text += row("same answer as one node", percent(r.value("agreement", 0.0)));
  if (const std::string encoding = activations.value("encoding", "float32"); encoding != "float32")
    text += row("activations as " + encoding, fmt::format("{} saved, {} of the answers changed",
                                                          format_bytes(activations.value("saved_bytes", Bytes{0})),
                                                          percent(activations.value("changed_predictions", 0.0))));
  if (r.contains("lost"))
    text += row("lost / answered twice", fmt::format("{} / {}", r.value("lost", 0), r.value("duplicated", 0)));
  if (r.contains("unreadable")) text += row("no images", fmt::format("{}", r.value("unreadable", 0)));
  if (r.value("missed", 0) > 0) text += row("missed their deadline", fmt::format("{} images", r.value("missed", 0)));
  return text + stage_rows(r) + unused_row(r);
}

/// The networks of an ensemble.
std::string member_rows(const json& r) {
  std::string text;
  for (const json& member : r.value("members", json::array())) {
    const auto classes = member.value("classes", std::vector<std::string>());
    text += row("network on " + member.value("node", "?"),
                fmt::format("{}: {}", format_seconds(member.value("seconds", 0.0)), operators_text(classes)));
  }
  if (!r.contains("claims")) return text;
  const json& claims = r["claims"];
  return text + row("claimed by one / none / more", fmt::format("{} / {} / {} images", claims.value("one", 0),
                                                                claims.value("none", 0), claims.value("several", 0)));
}

/// Where images left a network that lies over tiers.
std::string tier_exit_rows(const json& r) {
  if (!r.contains("sent_up")) return "";
  std::string text;
  for (const json& exit : r["exits"]) {
    const json& accuracy = exit["accuracy"];
    text += row(fmt::format("left at exit {} ({})", exit.value("exit", 0), exit.value("answer", "?")),
                fmt::format("{} images ({}), {} right", exit.value("images", 0), percent(exit.value("share", 0.0)),
                            accuracy.is_null() ? "-" : percent(accuracy.get<double>())));
  }
  for (const json& link : r["sent_up"])
    text += row(
        fmt::format("sent up for {} answers", link.value("answer", "?")),
        fmt::format("{}, {:.4g} bytes an image on average; a sample: {}", format_bytes(link.value("bytes", Bytes{0})),
                    link.value("bytes_per_image", 0.0), r.value("sample_bytes", Bytes{0})));
  return text;
}

/// What each tier answered, and how that was done.
std::string tier_rows(const json& r) {
  if (!r.contains("tiers")) return "";
  std::string text = row("of coarse classes", percent(r.value("coarse_accuracy", 0.0)));
  text += row("scheduler " + r.value("scheduler", "?"),
              fmt::format("{:.4g} ms an image, {} in all (predicted: {})", 1000 * r.value("image_s", 0.0),
                          format_seconds(r.value("seconds", 0.0)), format_seconds(r.value("predicted_seconds", 0.0))));
  text += row("policy " + r.value("policy", "?"),
              fmt::format("{} tasks given again, {} stolen, {} copied, {} answered again", r.value("given_again", 0),
                          r.value("stolen", 0), r.value("copied", 0), r.value("repeated", 0)));
  text += row("lost / answered twice", fmt::format("{} / {}", r.value("lost", 0), r.value("duplicated", 0)));
  text += fmt::format("  {:<6} {:<7} {:>6} {:>8} {:>10} {:>10} {:>30}\n", "tier", "labels", "tasks", "images",
                      "accuracy", "coarse", "latency p50 / p95 / p99");
  for (const json& t : r["tiers"]) {
    const json latency = t.value("latency", json::object());
    text += fmt::format(
        "  {:<6} {:<7} {:>6} {:>8} {:>10} {:>10} {:>30}\n", t.value("tier", "?"), t.value("labels", "?"),
        t.value("tasks", 0), t.value("images", 0), percent(t.value("accuracy", 0.0)),
        percent(t.value("coarse_accuracy", 0.0)),
        fmt::format("{} / {} / {}", format_seconds(latency.value("p50_s", 0.0)),
                    format_seconds(latency.value("p95_s", 0.0)), format_seconds(latency.value("p99_s", 0.0))));
  }
  for (const json& t : r["tiers"])
    if (t.contains("privacy"))
      text += row("  " + t.value("tier", "?") + ": not trusted",
                  fmt::format("{}: {} a task on the coordinator, {} sent for an image", t.value("privacy", "?"),
                              format_seconds(t.value("head_s", 0.0)), format_bytes(t.value("bytes_per_image", 0))));
  return text;
}

/// Of a network over devices with a view each.
std::string view_rows(const json& r) {
  if (!r.contains("views")) return "";
  std::string text;
  for (const json& exit : r["exits"]) {
    const json& accuracy = exit["accuracy"];
    text += row(fmt::format("left at exit {}", exit.value("exit", 0)),
                fmt::format("{} images ({}), {} right", exit.value("images", 0), percent(exit.value("share", 0.0)),
                            accuracy.is_null() ? "-" : percent(accuracy.get<double>())));
  }
  text += row("sent up for an image", fmt::format("{:.4g} bytes of scores, {:.4g} of features; a sample: {}",
                                                  r.value("score_bytes_per_image", 0.0),
                                                  r.value("feature_bytes_per_image", 0.0), r.value("sample_bytes", 0)));
  text += row("lost / answered twice", fmt::format("{} / {}", r.value("lost", 0), r.value("duplicated", 0)));
  for (const json& view : r["views"])
    text += row(fmt::format("view {} on {}", view.value("view", 0), view.value("node", "?")),
                fmt::format("missing in {} of {} micro-batches{}", view.value("micro_batches_without", 0),
                            r.value("micro_batches", 0), view.value("lost", false) ? ", lost" : ""));
  for (const json& upper : r["upper"])
    text +=
        row("behind exit 1, " + (upper["node"].is_null() ? "the coordinator" : upper.value("node", "?")),
            fmt::format("{} images in {} micro-batches", upper.value("images", 0), upper.value("micro_batches", 0)));
  return text;
}

std::string infer_table(const json& r) {
  std::string text =
      fmt::format("Inference: {}, {} images of {}, {} at once\n", r.value("strategy", "?"), r.value("images", 0),
                  r.value("data", r.value("input", "?")), r.value("micro_batch", 0));
  if (r.contains("accuracy")) text += accuracy_rows(r);
  text += row("images/s",
              fmt::format("{:.4g} ({})", r.value("images_per_s", 0.0), format_seconds(r.value("seconds", 0.0))));
  if (r.contains("node")) text += row("on", r.value("node", "?"));
  if (r.contains("stages")) text += pipeline_rows(r);
  return text + member_rows(r) + tier_rows(r) + tier_exit_rows(r) + view_rows(r) + event_rows(r);
}

std::string eval_table(const json& r) {
  std::string text = fmt::format("Evaluation: {} on {} images of {}\n", r.value("model", "?"), r.value("images", 0),
                                 r.value("data", "?"));
  text += accuracy_rows(r) + row("images/s", fmt::format("{:.0f}", r.value("images_per_s", 0.0)));
  return text + exit_rows(r) + confusion_rows(r);
}

}  // namespace

std::string summary_table(const json& results) {
  std::string text;
  if (results.contains("train")) text += train_table(results["train"]);
  if (results.contains("eval")) text += eval_table(results["eval"]);
  if (results.contains("infer")) text += infer_table(results["infer"]);
  return text;
}

}  // namespace mangrove::cli
