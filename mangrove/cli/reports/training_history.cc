#include "mangrove/cli/reports/training_history.h"

#include <optional>

#include "mangrove/base/report.h"
#include "mangrove/cli/reports/metrics_line.h"

namespace mangrove::cli {
namespace {

void add(ThinnedCurve& curve, double x, const std::optional<double>& y) {
  if (y) curve.add(x, *y);
}

}  // namespace

void TrainingHistory::take(const nlohmann::json& line) {
  if (const auto progress = read_line<job::Progress>(line, report_kind_name(ReportKind::progress)))
    take_progress(*progress);
  if (const auto epoch = read_line<train::EpochReport>(line, report_kind_name(ReportKind::epoch))) take_epoch(*epoch);
}

void TrainingHistory::take_progress(const job::Progress& progress) {
  if (!progress.epoch || !progress.epochs || progress.total <= 0) return;
  const double done = static_cast<double>(progress.done) / static_cast<double>(progress.total);
  const double epoch = done * static_cast<double>(*progress.epochs);
  add(loss, epoch, progress.loss);
  add(accuracy, epoch, progress.accuracy);
  add(learning_rate, epoch, progress.learning_rate);
  add(images_per_s, epoch, progress.images_per_s);
  add(epsilon, epoch, progress.epsilon);
}

void TrainingHistory::take_epoch(const train::EpochReport& epoch) {
  const auto number = static_cast<double>(epoch.epoch);
  add(validation_loss, number, epoch.validation_loss);
  add(validation_accuracy, number, epoch.validation_accuracy);
  add(accuracy_by_seconds, epoch.train_seconds, epoch.validation_accuracy);
}

}  // namespace mangrove::cli
