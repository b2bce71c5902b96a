#include "mangrove/cli/reports/report_keeper.h"

#include <algorithm>
#include <utility>

#include "mangrove/base/json_dump.h"
#include "mangrove/cli/command.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

std::int64_t whole(const json& body, const char* key) {
  return body.value(key, std::int64_t{0});
}

/// A report on epochs of this job, as one on epochs of the run; others as they are.
std::string placed_in_run(const Report& report, const RunPhase& phase) {
  json body = json::parse(report.json, nullptr, /*allow_exceptions=*/false);
  if (!body.is_object() || !body.contains("epoch")) return report.json;
  const std::int64_t before = phase.epochs_done;
  body["phase"] = phase.name;
  body["epoch"] = whole(body, "epoch") + before;
  if (report.kind == "progress") {
    const std::int64_t samples_per_epoch = whole(body, "total") / std::max<std::int64_t>(1, whole(body, "epochs"));
    body["epochs"] = phase.epochs;
    body["done"] = whole(body, "done") + before * samples_per_epoch;
    body["total"] = phase.epochs * samples_per_epoch;
  } else {
    body["train_seconds"] = body.value("train_seconds", 0.0) + phase.seconds_done;
    if (body.contains("best_epoch")) body["best_epoch"] = whole(body, "best_epoch") + before;
  }
  return dump(body);
}

/// How many boards would be enough.
bool is_advice(const Report& report) {
  if (report.kind != "event") return false;
  const json body = json::parse(report.json, nullptr, /*allow_exceptions=*/false);
  return body.is_object() && body.value("event", "") == "advice";
}

}  // namespace

ReportKeeper::ReportKeeper(JobContext& context, RunPhase phase)
    : context_(context), phase_(std::move(phase)), display_(!context.output.quiet) {}

void ReportKeeper::take(Report report) {
  if (!phase_.name.empty() && (report.kind == "progress" || report.kind == "epoch"))
    report.json = placed_in_run(report, phase_);
  if (!(context_.is_embedded && is_advice(report))) display_.show(report);
  RunFolder& folder = context_.folder;
  if (report.kind == "result") {
    result_ = json::parse(report.json, nullptr, /*allow_exceptions=*/false);
    if (!report.attachment.empty()) note(folder.write_model(phase_.file_prefix, report.attachment));
    return;
  }
  const bool is_checkpoint = report.kind == "checkpoint";
  if (!report.attachment.empty() && (is_checkpoint || report.kind == "epoch"))
    note(
        folder.write(phase_.file_prefix + (is_checkpoint ? "checkpoint.safetensors" : "best.onnx"), report.attachment));
  if (!is_checkpoint) take_other(report);
}

void ReportKeeper::take_other(const Report& report) {
  const json body = json::parse(report.json, nullptr, /*allow_exceptions=*/false);
  if (!body.is_object()) return;
  if (report.kind != "nodes") return add_metrics(report.kind, body);
  for (const json& sample : body.value("samples", json::array())) add_metrics("sample", sample);
}

void ReportKeeper::add_metrics(const std::string& kind, const json& body) {
  json line = {{"kind", kind}};
  line.update(body);
  note(context_.folder.add_metrics(dump(line)));
}

/// Says it once, at the first file that cannot be written: there may be hours left to make room.
void ReportKeeper::note(const Status& written) {
  if (written.ok() || !warning_.is_null()) return;
  warning_ = {{"event", "not_written"}, {"message", written.error().message}};
  display_.show({.kind = "event", .json = dump(warning_), .attachment = {}});
}

Result<json> ReportKeeper::finish(const Status& ended) {
  display_.finish();
  if (!ended.ok()) return ended.error();
  if (!result_.is_object()) return make_error(Code::internal, "the job ended without a result");
  if (!warning_.is_null() && result_.contains("events")) result_["events"].push_back(warning_);
  result_["run_dir"] = context_.folder.path().string();
  return result_;
}

}  // namespace mangrove::cli
