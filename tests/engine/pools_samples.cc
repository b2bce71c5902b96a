#include "operator_samples.h"

namespace mangrove::samples {

namespace {

using Ints = std::vector<std::int64_t>;

}  // namespace

std::vector<OperatorSample> pools() {
  const SampleInput image = fed({kBatch, 3, 6, 7});
  std::vector<OperatorSample> samples;
  for (const std::string op : {"MaxPool", "AveragePool"}) {
    const Attribute kernel = Ints{2, 3};
    for (OperatorSample& sample : std::vector<OperatorSample>{
             {op + "_plain", op, {image}, {{"kernel_shape", kernel}}},
             {op + "_strided", op, {image}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}},
             {op + "_gaps", op, {image}, {{"kernel_shape", Ints{2, 1}}, {"strides", Ints{3, 2}}}},
             {op + "_padded", op, {image}, {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 2, 0, 1}}}},
             {op + "_same",
              op,
              {image},
              {{"kernel_shape", kernel}, {"strides", Ints{2, 2}}, {"auto_pad", std::string("SAME_LOWER")}}}}) {
      samples.push_back(std::move(sample));
    }
  }
  for (OperatorSample& sample : std::vector<OperatorSample>{
           {"AveragePool_padding_counted",
            "AveragePool",
            {image},
            {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}, {"count_include_pad", std::int64_t{1}}}},
           {"GlobalAveragePool", "GlobalAveragePool", {image}}}) {
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace mangrove::samples
