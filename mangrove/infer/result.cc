#include "mangrove/infer/result.h"

#include "mangrove/learn/metrics.h"

namespace mangrove::infer {

InferResult result_of(const InferJob& job, const Hello& data, std::span<const std::int32_t> truths,
                      std::span<const std::int32_t> predictions, Seconds seconds) {
  learn::ConfusionMatrix confusion(data.classes_size());
  for (std::size_t i = 0; i < predictions.size(); ++i)
    if (predictions[i] >= 0) confusion.add(truths[i], predictions[i]);
  InferResult result;
  result.strategy = job.strategy();
  result.images = data.samples();
  result.accuracy = confusion.accuracy();
  result.macro_f1 = confusion.macro_f1();
  result.images_per_s = per_second(data.samples(), seconds);
  result.seconds = seconds;
  result.micro_batch = job.micro_batch();
  return result;
}

}  // namespace mangrove::infer
