#include "mangrove/learn/evaluate.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "mangrove/learn/request_all.h"

namespace mangrove::learn {
namespace {

bool differs_in_training(const Graph& graph) {
  const auto is_dropout = [](const Node& node) { return node.op == "Dropout"; };
  return !graph.states().empty() || std::any_of(graph.nodes().begin(), graph.nodes().end(), is_dropout);
}

}  // namespace

Result<Evaluation> evaluate(Replica& replica, std::shared_ptr<const data::Dataset> dataset, std::stop_token stop,
                            std::shared_ptr<const data::Augmentation> augmentation,
                            const std::function<void(std::int64_t done)>& progress) {
  MG_RETURN_IF_ERROR(check_fits(replica.graph(), *dataset));
  if (replica.mode() == Mode::training && differs_in_training(replica.graph())) {
    return make_error(Code::failed_precondition, "graph '" + replica.graph().name() +
                                                     "' normalises or drops by batch in training; evaluate it in "
                                                     "inference mode");
  }
  std::vector<std::uint32_t> samples(dataset->size());
  std::iota(samples.begin(), samples.end(), 0u);
  data::Loader loader(dataset, {.batch = replica.batch(), .augmentation = std::move(augmentation)});
  request_all(loader, samples, replica.batch());
  Evaluation evaluation{ConfusionMatrix(replica.classes()), 0};
  BatchStats stats;
  for (std::size_t visited = 0; visited < samples.size();) {
    if (stop.stop_requested()) {
      return make_error(Code::cancelled, "stopped after " + std::to_string(visited) + " of " +
                                             std::to_string(samples.size()) + " samples");
    }
    MG_TRY(const data::Batch batch, loader.next());
    const std::vector<std::int32_t> predictions = replica.predict(batch, &stats);
    for (std::size_t row = 0; row < predictions.size(); ++row)
      evaluation.confusion.add(batch.labels[row], predictions[row]);
    visited += predictions.size();
    if (progress) progress(static_cast<std::int64_t>(visited));
  }
  if (stats.count > 0) evaluation.loss = stats.loss / static_cast<double>(stats.count);
  return evaluation;
}

}  // namespace mangrove::learn
