#include "mangrove/infer/pipeline/predictions.h"

#include <algorithm>

#include "mangrove/infer/tags.h"
#include "mangrove/learn/metrics.h"

namespace mangrove::infer {

void add_predictions(std::span<const float> scores, std::int64_t count, const FrameDetails& details,
                     Predictions& predictions) {
  const auto classes = static_cast<std::int32_t>(static_cast<std::int64_t>(scores.size()) / count);
  for (const std::int32_t c : learn::argmax_rows(scores, classes)) predictions.add_classes(c);
  if (!details.confidence) return;
  for (std::int64_t row = 0; row < count; ++row) {
    const std::span<const float> of_row =
        scores.subspan(static_cast<std::size_t>(row * classes), static_cast<std::size_t>(classes));
    predictions.add_confidence(static_cast<float>(std::ranges::max(learn::probabilities(of_row))));
    if (details.scores) predictions.add_scores(reinterpret_cast<const char*>(of_row.data()), of_row.size_bytes());
  }
}

void send_missed(net::Endpoint& endpoint, std::uint64_t generation, std::uint64_t micro_batch) {
  FromNode message;
  Predictions& predictions = *message.mutable_predictions();
  predictions.set_generation(generation);
  predictions.set_micro_batch(micro_batch);
  predictions.set_missed(true);
  endpoint.send(0, kFromNodeTag, message.SerializeAsString());
}

}  // namespace mangrove::infer
