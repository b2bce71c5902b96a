#include "tests/engine/operator_samples.h"

namespace mangrove::samples {

namespace {

using Ints = std::vector<std::int64_t>;

}  // namespace

std::vector<OperatorSample> pools() {
  const SampleInput image = fed({kBatch, 3, 6, 7});
  std::vector<OperatorSample> samples;
  for (const std::string op : {"MaxPool", "AveragePool"}) {
    const Attribute kernel = Ints{2, 3}, pads = Ints{1, 0, 1, 1};
    for (OperatorSample& sample : std::vector<OperatorSample>{
             {op + "_plain", op, {image}, {{"kernel_shape", kernel}}},
             {op + "_strided", op, {image}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}},
             {op + "_gaps", op, {image}, {{"kernel_shape", Ints{2, 1}}, {"strides", Ints{3, 2}}}},
             {op + "_padded", op, {image}, {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 2, 0, 1}}}},
             {op + "_same",
              op,
              {image},
              {{"kernel_shape", kernel}, {"strides", Ints{2, 2}}, {"auto_pad", std::string("SAME_LOWER")}}},
             {op + "_rounded_up",
              op,
              {image},
              {{"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 4}}, {"pads", pads}, {"ceil_mode", std::int64_t{1}}}},
             {op + "_signal", op, {fed({kBatch, 2, 9})}, {{"kernel_shape", Ints{4}}, {"strides", Ints{3}}}}}) {
      samples.push_back(std::move(sample));
    }
  }
  for (OperatorSample& sample : std::vector<OperatorSample>{
           {"AveragePool_padding_counted",
            "AveragePool",
            {image},
            {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}, {"count_include_pad", std::int64_t{1}}}},
           {"AveragePool_rounded_up_padding_counted",
            "AveragePool",
            {fed({kBatch, 2, 8})},
            {{"kernel_shape", Ints{3}},
             {"strides", Ints{4}},
             {"pads", Ints{1, 1}},
             {"ceil_mode", std::int64_t{1}},
             {"count_include_pad", std::int64_t{1}}}},
           {"MaxPool_dilated",
            "MaxPool",
            {image},
            {{"kernel_shape", Ints{2, 3}}, {"dilations", Ints{3, 2}}, {"pads", Ints{2, 1, 0, 1}}}},
           {.name = "MaxPool_indices",
           .op = "MaxPool",
           .inputs = {image},
           .attributes = {{"kernel_shape", Ints{2, 3}}, {"strides", Ints{2, 2}}, {"storage_order", std::int64_t{1}}},
           .outputs = 2},
           {.name = "MaxPool_bytes",
           .op = "MaxPool",
           .inputs = {fed_type(DType::u8, {kBatch, 3, 6, 7}, 0, 255)},
           .attributes = {{"kernel_shape", Ints{2, 3}}, {"pads", Ints{1, 1, 1, 1}}},
           .differentiable = false},
           {"GlobalAveragePool", "GlobalAveragePool", {image}},
           {"GlobalAveragePool_volume", "GlobalAveragePool", {fed({kBatch, 2, 3, 2, 4})}},
           {"GlobalMaxPool", "GlobalMaxPool", {image}},
           {"GlobalMaxPool_signal", "GlobalMaxPool", {fed({kBatch, 3, 7})}}}) {
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace mangrove::samples
