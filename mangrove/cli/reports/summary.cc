#include "mangrove/cli/reports/summary.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "mangrove/base/format.h"
#include "mangrove/cli/reports/confusion_report.h"
#include "mangrove/cli/reports/event_text.h"
#include "mangrove/cli/reports/exits_report.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kMostRows = 64;  // nodes, and events: a simulated world may have thousands

std::string row(const std::string& name, const std::string& value) {
  return fmt::format("  {:<26} {}\n", name, value);
}

/// A mean of bytes.
std::string bytes_text(double bytes) {
  return format_bytes(static_cast<Bytes>(std::llround(bytes)));
}

/// "-" where there was nothing to be measured.
std::string latency_text(const json& latency) {
  std::vector<std::string> texts;
  for (const char* key : {"p50_s", "p95_s", "p99_s"}) texts.push_back(format_seconds(latency.value(key, 0.0)));
  return fmt::format("{}", fmt::join(texts, " / "));
}

/// That another data set was used than the one that was wanted: its accuracy says nothing of that.
std::string fallback_row(const json& r) {
  if (!r.contains("in_place_of")) return "";
  const std::string wanted = r.value("in_place_of", ""), used = r.value("data", "?");
  return row("NOT " + wanted,
             fmt::format("{0} could not be had, so this is {1}: its accuracy says nothing of {0}", wanted, used));
}

std::string accuracy_rows(const json& r) {
  if (!r.contains("accuracy")) return "";  // of a simulated job whose computing was modelled
  const std::string text = row("top-1 accuracy", format_percent(r.value("accuracy", 0.0)));
  return r.contains("macro_f1") ? text + row("macro F1", format_percent(r.value("macro_f1", 0.0))) : text;
}

std::string node_rows(const json& r) {
  std::string text = fmt::format("  {:<14} {:>8} {:>10} {:>10} {:>10}\n", "node", "cpu", "memory", "sent", "received");
  std::size_t rows = 0;
  const json nodes = r.value("nodes", json::array());
  for (const json& n : nodes) {
    if (++rows > kMostRows)
      return text + row("...", fmt::format("and {} more in summary.json", nodes.size() - kMostRows));
    text +=
        fmt::format("  {:<14} {:>8} {:>10} {:>10} {:>10}\n", n.value("name", "?"),
                    format_percent(n.value("cpu_percent", 0.0) / 100, 1), format_bytes(n.value("rss_bytes", Bytes{0})),
                    format_bytes(n.value("sent_bytes", Bytes{0})), format_bytes(n.value("received_bytes", Bytes{0})));
  }
  return text;
}

std::string event_rows(const json& r) {
  std::string text;
  std::size_t rows = 0;
  const json events = r.value("events", json::array());
  for (const json& event : events) {
    if (event.value("event", "") == "advice") continue;  // that has a row of its own
    const std::string line = event_line(event);
    if (line.empty()) continue;
    if (++rows > kMostRows) return text + row("...", fmt::format("{} events in all: see summary.json", events.size()));
    const json time = event.value("time_s", json());
    text += row(time.is_number() ? "after " + format_seconds(time.get<double>()) : "event", line);
  }
  return text;
}

/// What the first phase of transfer learning came to.
std::string head_row(const json& head) {
  return row("the new head alone", fmt::format("{} after {}, {}", format_percent(head.value("accuracy", 0.0)),
                                               format_things(head.value("epochs", std::int64_t{0}), "epoch"),
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
    text += fmt::format("  {:<6} {:<10} {:>9} {:>9} {:>9} {:>9} {:>10} {:>10} {:>10} {:>10}  {}\n",
                        s.value("stage", 0) + 1, s.value("node", "?"), format_seconds(s.value("forward_s", 0.0)),
                        format_seconds(s.value("backward_s", 0.0)), format_seconds(s.value("busy_s", 0.0)),
                        predicted.is_number() ? format_seconds(predicted.get<double>()) : "",
                        format_percent(s.value("idle", 0.0)), format_percent(s.value("predicted_idle", 0.0)),
                        s.value("in_flight", 0), format_count(s.value("parameters", std::int64_t{0})), range);
  }
  return text;
}

/// "4 workers x 64 samples, 1 epoch"
std::string training_text(const json& r) {
  const std::int64_t batch = r.value("batch", std::int64_t{0});
  const bool is_pipeline = r.contains("stages");
  return fmt::format("{}{} {}, {}", format_things(r.value("workers", std::int64_t{0}), "worker"),
                     is_pipeline ? " together" : " x", format_things(batch, "sample"),
                     format_things(r.value("epochs", std::int64_t{0}), "epoch"));
}

/// Nodes that share a machine slow each other down: what is advised of those says little.
std::string advice_row(const json& r) {
  if (!r.contains("advice") || r.value("embedded", false)) return "";
  const std::string line = advice_line(r["advice"]);
  return line.empty() ? "" : row("advice", line);
}

std::string train_table(const json& r) {
  std::string text =
      fmt::format("Training: {} on {}, {}\n", r.value("model", "?"), r.value("data", "?"), training_text(r));
  text += fallback_row(r) + accuracy_rows(r);
  if (r.contains("head")) text += head_row(r["head"]);
  if (r.contains("best_epoch"))
    text += row("best validation",
                fmt::format("{} after epoch {} (best.onnx)", format_percent(r.value("best_validation_accuracy", 0.0)),
                            r.value("best_epoch", 0)));
  if (const auto exits = r.value("exit_accuracy", std::vector<double>()); !exits.empty()) {
    std::vector<std::string> texts;
    for (const double accuracy : exits) texts.push_back(format_percent(accuracy));
    text += row("accuracy at exits", fmt::format("{}", fmt::join(texts, " / ")));
  }
  text += row("training time", format_seconds(r.value("train_seconds", 0.0)));
  text += row("training speed", format_rate(r.value("images_per_s", 0.0)));
  text += advice_row(r);
  return text + trained_stage_rows(r) + node_rows(r) + event_rows(r) + confusion_text(r);
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
                                 "utilisation", "memory", "queue mean/max", "per image", "operators");
  for (const json& s : r.value("stages", json::array())) {
    const auto beside = [](const std::string& measured, const std::string& predicted) {
      return fmt::format("{} ({})", measured, predicted);
    };
    text += fmt::format(
        "  {:<6} {:<10} {:>20} {:>20} {:>18} {:>15} {:>12}  {}\n", s.value("stage", 0) + 1, s.value("node", "?"),
        beside(format_seconds(s.value("busy_s", 0.0)), format_seconds(s.value("predicted_busy_s", 0.0))),
        beside(format_percent(s.value("utilisation", 0.0)), format_percent(s.value("predicted_utilisation", 0.0))),
        beside(format_bytes(s.value("rss_bytes", Bytes{0})), format_bytes(s.value("predicted_rss_bytes", Bytes{0}))),
        fmt::format("{:.1f} / {}", s.value("queue_mean", 0.0), s.value("queue_max", 0)),
        bytes_text(s.value("bytes_per_image", 0.0)), operators_text(s.value("operators", std::vector<std::string>())));
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
      row("predicted speed", fmt::format("{}, limited by {}", format_rate(r.value("predicted_images_per_s", 0.0)),
                                         r.value("limited_by", "?")));
  if (r.contains("single_images_per_s"))
    text += row("fastest node alone",
                fmt::format("{} (pipeline: {:.2f}x)", format_rate(single), single > 0 ? rate / single : 0.0));
  text += row("latency p50 / p95 / p99", latency_text(latency));
  if (r.contains("agreement")) text += row("same answer as one node", format_percent(r.value("agreement", 0.0)));
  if (const std::string encoding = activations.value("encoding", "float32"); encoding != "float32")
    text +=
        row("activations as " + encoding,
            fmt::format("{} saved, {} of the answers changed", format_bytes(activations.value("saved_bytes", Bytes{0})),
                        format_percent(activations.value("changed_predictions", 0.0))));
  if (r.contains("lost"))
    text += row("lost / answered twice", fmt::format("{} / {}", r.value("lost", 0), r.value("duplicated", 0)));
  if (r.value("unreadable", 0) > 0)
    text += row("not readable as images", format_count(r.value("unreadable", std::int64_t{0})));
  if (r.value("missed", 0) > 0)
    text += row("missed their deadline", format_things(r.value("missed", std::int64_t{0}), "image"));
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
                fmt::format("{} ({}), {} right", format_things(exit.value("images", std::int64_t{0}), "image"),
                            format_percent(exit.value("share", 0.0)),
                            accuracy.is_null() ? "-" : format_percent(accuracy.get<double>())));
  }
  for (const json& link : r["sent_up"])
    text += row(
        fmt::format("sent up for {} answers", link.value("answer", "?")),
        fmt::format("{}, {} an image on average; a sample: {}", format_bytes(link.value("bytes", Bytes{0})),
                    bytes_text(link.value("bytes_per_image", 0.0)), format_bytes(r.value("sample_bytes", Bytes{0}))));
  return text;
}

/// What each tier answered, and how that was done.
std::string tier_rows(const json& r) {
  if (!r.contains("tiers")) return "";
  std::string text = row("of coarse classes", format_percent(r.value("coarse_accuracy", 0.0)));
  text += row("scheduler " + r.value("scheduler", "?"),
              fmt::format("{} an image, {} in all (predicted: {})", format_seconds(r.value("image_s", 0.0)),
                          format_seconds(r.value("seconds", 0.0)), format_seconds(r.value("predicted_seconds", 0.0))));
  text += row("policy " + r.value("policy", "?"),
              fmt::format("{} tasks given again, {} stolen, {} copied, {} answered again", r.value("given_again", 0),
                          r.value("stolen", 0), r.value("copied", 0), r.value("repeated", 0)));
  text += row("lost / answered twice", fmt::format("{} / {}", r.value("lost", 0), r.value("duplicated", 0)));
  text += fmt::format("  {:<6} {:<7} {:>6} {:>8} {:>10} {:>10} {:>30}\n", "tier", "labels", "tasks", "images",
                      "accuracy", "coarse", "latency p50 / p95 / p99");
  for (const json& t : r["tiers"]) {
    const bool has_tasks = t.value("tasks", 0) > 0;
    const auto or_dash = [&](const std::string& value) { return has_tasks ? value : "-"; };
    text += fmt::format("  {:<6} {:<7} {:>6} {:>8} {:>10} {:>10} {:>30}\n", t.value("tier", "?"),
                        t.value("labels", "?"), t.value("tasks", 0), format_count(t.value("images", std::int64_t{0})),
                        or_dash(format_percent(t.value("accuracy", 0.0))),
                        or_dash(format_percent(t.value("coarse_accuracy", 0.0))),
                        or_dash(latency_text(t.value("latency", json::object()))));
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
                fmt::format("{} ({}), {} right", format_things(exit.value("images", std::int64_t{0}), "image"),
                            format_percent(exit.value("share", 0.0)),
                            accuracy.is_null() ? "-" : format_percent(accuracy.get<double>())));
  }
  text += row("sent up for an image", fmt::format("{} of scores, {} of features; a sample: {}",
                                                  bytes_text(r.value("score_bytes_per_image", 0.0)),
                                                  bytes_text(r.value("feature_bytes_per_image", 0.0)),
                                                  format_bytes(r.value("sample_bytes", Bytes{0}))));
  text += row("lost / answered twice", fmt::format("{} / {}", r.value("lost", 0), r.value("duplicated", 0)));
  for (const json& view : r["views"])
    text += row(fmt::format("view {} on {}", view.value("view", 0), view.value("node", "?")),
                fmt::format("missing in {} of {} micro-batches{}", view.value("micro_batches_without", 0),
                            r.value("micro_batches", 0), view.value("lost", false) ? ", lost" : ""));
  for (const json& upper : r["upper"])
    text +=
        row("behind exit 1, " + (upper["node"].is_null() ? "the coordinator" : upper.value("node", "?")),
            fmt::format("{} in {}", format_things(upper.value("images", std::int64_t{0}), "image"),
                        format_things(upper.value("micro_batches", std::int64_t{0}), "micro-batch", "micro-batches")));
  return text;
}

std::string infer_table(const json& r) {
  std::string text = fmt::format("Inference: {}, {} of {}, {} at once\n", r.value("strategy", "?"),
                                 format_things(r.value("images", std::int64_t{0}), "image"),
                                 r.value("data", r.value("input", "?")), r.value("micro_batch", 0));
  text += fallback_row(r) + accuracy_rows(r);
  text += row("speed", fmt::format("{} ({})", format_rate(r.value("images_per_s", 0.0)),
                                   format_seconds(r.value("seconds", 0.0))));
  if (r.contains("node")) text += row("on", r.value("node", "?"));
  if (r.contains("stages")) text += pipeline_rows(r);
  return text + member_rows(r) + tier_rows(r) + tier_exit_rows(r) + view_rows(r) + event_rows(r);
}

std::string eval_table(const json& r) {
  std::string text = fmt::format("Evaluation: {} on {} of {}\n", r.value("model", "?"),
                                 format_things(r.value("images", std::int64_t{0}), "image"), r.value("data", "?"));
  text += fallback_row(r) + accuracy_rows(r) + row("speed", format_rate(r.value("images_per_s", 0.0)));
  return text + exit_rows(r) + confusion_text(r);
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
