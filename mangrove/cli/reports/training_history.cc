#include "mangrove/cli/reports/training_history.h"

#include <optional>

#include "mangrove/cli/reports/json_values.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

/// The epochs that are done, in part too.
std::optional<double> epochs_done(const json& progress) {
  const auto done = number_at(progress, "done"), total = number_at(progress, "total"),
             epochs = number_at(progress, "epochs");
  if (!number_at(progress, "epoch") || !done || !total || !epochs || *total <= 0) return std::nullopt;
  return *done / *total * *epochs;
}

void add(ThinnedCurve& curve, const std::optional<double>& x, const json& line, const char* key) {
  if (const auto y = number_at(line, key); x && y) curve.add(*x, *y);
}

}  // namespace

void TrainingHistory::take(const json& line) {
  const std::string kind = text_at(line, "kind");
  if (kind == "progress") {
    const std::optional<double> epoch = epochs_done(line);
    add(loss, epoch, line, "loss");
    add(accuracy, epoch, line, "accuracy");
    add(learning_rate, epoch, line, "learning_rate");
    add(images_per_s, epoch, line, "images_per_s");
  } else if (kind == "epoch") {
    const std::optional<double> epoch = number_at(line, "epoch");
    add(validation_loss, epoch, line, "validation_loss");
    add(validation_accuracy, epoch, line, "validation_accuracy");
    add(accuracy_by_seconds, number_at(line, "train_seconds"), line, "validation_accuracy");
  }
}

}  // namespace mangrove::cli
