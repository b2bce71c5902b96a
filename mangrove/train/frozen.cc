#include "mangrove/train/frozen.h"

#include <utility>

#include "mangrove/base/check.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/graph/split.h"

namespace mangrove::train {

Status check_frozen(const TrainJob& job) {
  if (!has_frozen_part(job)) return {};
  MG_TRY(const Graph frozen, parse_onnx(job.frozen()).context("frozen"));
  MG_TRY(const Graph model, parse_onnx(job.model()).context("model"));
  MG_RETURN_IF_ERROR(join(frozen, model).context("frozen"));
  return {};
}

Graph whole_network(const TrainJob& job, const Graph& trained) {
  if (!has_frozen_part(job)) return trained;
  const Result<Graph> frozen = parse_onnx(job.frozen());
  MG_CHECK_MSG(frozen.ok(), frozen.error().message);
  Result<Graph> whole = join(*frozen, trained);
  MG_CHECK_MSG(whole.ok(), whole.error().message);
  return *std::move(whole);
}

Result<std::shared_ptr<learn::FeatureExtractor>> make_frozen_part(const TrainJob& job, int threads) {
  MG_TRY(const Graph frozen, parse_onnx(job.frozen()).context("frozen"));
  return learn::FeatureExtractor::create(frozen, job.backend(), threads).context("frozen");
}

}  // namespace mangrove::train
