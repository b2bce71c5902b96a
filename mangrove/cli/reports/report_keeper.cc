#include "mangrove/cli/reports/report_keeper.h"

#include <algorithm>
#include <utility>

#include "mangrove/base/json_dump.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/reports/metrics_line.h"
#include "mangrove/cli/reports/run_facts.h"
#include "mangrove/cluster/job_report.h"
#include "mangrove/cluster/model_signature.h"
#include "mangrove/train/result.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

/// Progress of this job, as that of the run; of phases without epochs as it is.
Report progress_in_run(Report report, const RunPhase& phase) {
  auto progress = job::parse_json<job::Progress>(report.json);
  if (!progress.ok() || !progress->epoch) return report;
  const std::int64_t samples_per_epoch = progress->total / std::max<std::int64_t>(1, progress->epochs.value_or(1));
  progress->phase = phase.name;
  *progress->epoch += phase.epochs_done;
  progress->epochs = phase.epochs;
  progress->done += phase.epochs_done * samples_per_epoch;
  progress->total = phase.epochs * samples_per_epoch;
  return {report.kind, dump(job::json_of(*progress))};
}

/// An epoch of this job, as one of the run.
Report epoch_in_run(Report report, const RunPhase& phase) {
  auto epoch = job::parse_json<train::EpochReport>(report.json);
  if (!epoch.ok()) return report;
  epoch->phase = phase.name;
  epoch->epoch += phase.epochs_done;
  epoch->train_seconds += phase.seconds_done;
  if (epoch->best_epoch) *epoch->best_epoch += phase.epochs_done;
  return {report.kind, dump(job::json_of(*epoch)), std::move(report.attachment)};
}

Report placed_in_run(Report report, const RunPhase& phase) {
  if (phase.name.empty()) return report;
  if (report.kind == ReportKind::progress) return progress_in_run(std::move(report), phase);
  if (report.kind == ReportKind::epoch) return epoch_in_run(std::move(report), phase);
  return report;
}

/// How many boards would be enough.
bool is_advice(const Report& report) {
  if (report.kind != ReportKind::event) return false;
  const auto event = job::parse_json<job::EventHead>(report.json);
  return event.ok() && event->event == train::AdviceGiven::kEvent;
}

}  // namespace

ReportKeeper::ReportKeeper(JobContext& context, RunPhase phase)
    : context_(context), phase_(std::move(phase)), display_(!context.output.quiet) {}

void ReportKeeper::take(Report report) {
  report = placed_in_run(std::move(report), phase_);
  if (!(context_.is_embedded && is_advice(report))) display_.show(report);
  RunFolder& folder = context_.folder;
  if (report.kind == ReportKind::result) {
    result_ = json::parse(report.json, nullptr, /*allow_exceptions=*/false);
    const std::string signature = take_signature();
    if (!report.attachment.empty()) note(folder.write_model(phase_.file_prefix, report.attachment, signature));
    return;
  }
  const bool is_checkpoint = report.kind == ReportKind::checkpoint;
  if (!report.attachment.empty() && (is_checkpoint || report.kind == ReportKind::epoch))
    note(
        folder.write(phase_.file_prefix + (is_checkpoint ? "checkpoint.safetensors" : "best.onnx"), report.attachment));
  if (!is_checkpoint) take_other(report);
}

/// Takes the signature of the network out of the result; it goes beside the network. "": there is none, or nobody can
/// check it later, since the cluster and its authority end with this command.
std::string ReportKeeper::take_signature() {
  auto facts = job::read_json<cluster::ModelFacts>(result_);
  if (!facts.ok() || !facts->signature) return {};
  result_.erase(cluster::ModelFacts::kSignature);
  return context_.session.ends_with_command() ? std::string() : *std::move(facts->signature);
}

void ReportKeeper::take_other(const Report& report) {
  if (report.kind == ReportKind::nodes) {
    const auto nodes = job::parse_json<cluster::NodesReport>(report.json);
    if (!nodes.ok()) return;
    for (const cluster::SampleLine& sample : nodes->samples)
      add_metrics(metrics_line(cluster::SampleLine::kLine, job::json_of(sample)));
    return;
  }
  const json body = json::parse(report.json, nullptr, /*allow_exceptions=*/false);
  if (!body.is_object()) return;
  add_metrics(report.kind == ReportKind::line ? body : metrics_line(report_kind_name(report.kind), body));
}

void ReportKeeper::add_metrics(const json& line) {
  note(context_.folder.add_metrics(dump(line)));
}

/// Says it once, at the first file that cannot be written: there may be hours left to make room.
void ReportKeeper::note(const Status& written) {
  if (written.ok() || warning_) return;
  warning_ = NotWritten{written.error().message};
  display_.show(job::event_report(*warning_));
}

Result<json> ReportKeeper::finish(const Status& ended) {
  display_.finish();
  if (!ended.ok()) return ended.error();
  if (!result_.is_object()) return make_error(Code::internal, "the job ended without a result");
  RunFacts facts;
  facts.run_dir = context_.folder.path().string();
  if (auto known = job::read_json<RunFacts>(result_); warning_ && known.ok() && known->events) {
    facts.events = std::move(known->events);
    facts.events->push_back(job::event_json(*warning_));
  }
  facts.add_to(result_);
  return result_;
}

}  // namespace mangrove::cli
