#include "mangrove/train/hello.h"

#include "mangrove/base/check.h"
#include "mangrove/learn/preparation.h"
#include "mangrove/learn/replica.h"
#include "mangrove/train/reports.h"

namespace mangrove::train {

std::vector<std::string> class_names(const Hello& hello) {
  return {hello.classes().begin(), hello.classes().end()};
}

Status check_data(const Graph& graph, const TrainJob& job, const Hello& hello) {
  if (hello.train_samples() < 1) return make_error(Code::invalid_argument, "data set '" + job.data() + "' is empty");
  const Shape sample({hello.sample_shape().begin(), hello.sample_shape().end()});
  return learn::check_fits(graph, sample, hello.classes_size()).context("data set '" + job.data() + "'");
}

Graph labelled(const Graph& trained, const TrainJob& job, const Hello& hello) {
  GraphParts parts = trained.parts();
  parts.metadata[learn::kDataKey] = job.data();
  parts.metadata["mangrove.classes"] = json_list(class_names(hello));
  if (!hello.augmentation().empty()) parts.metadata[learn::kAugmentationKey] = hello.augmentation();
  Result<Graph> graph = Graph::create(std::move(parts));
  MG_CHECK_MSG(graph.ok(), graph.error().message);
  return *std::move(graph);
}

}  // namespace mangrove::train
