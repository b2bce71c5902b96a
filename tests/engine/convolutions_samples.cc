#include "tests/engine/operator_samples.h"

namespace mangrove::samples {

namespace {

using Ints = std::vector<std::int64_t>;

}  // namespace

std::vector<OperatorSample> convolutions() {
  const SampleInput image = fed({kBatch, 2, 7, 6}), small = fed({kBatch, 2, 4, 3}), signal = fed({kBatch, 2, 7});
  return {
      {"Conv_plain", "Conv", {image, parameter({3, 2, 3, 2}), parameter({3})}},
      {"Conv_no_bias", "Conv", {image, parameter({3, 2, 3, 3})}},
      {"Conv_weights_fed", "Conv", {image, fed({3, 2, 2, 2}), fed({3})}},
      {"Conv_padded_unevenly", "Conv", {image, parameter({1, 2, 3, 3}), parameter({1})}, {{"pads", Ints{1, 0, 2, 1}}}},
      {"Conv_strided", "Conv", {image, parameter({3, 2, 3, 3})}, {{"strides", Ints{2, 3}}, {"pads", Ints{1, 1, 1, 1}}}},
      {"Conv_dilated", "Conv", {image, parameter({2, 2, 2, 3})}, {{"dilations", Ints{3, 2}}}},
      {"Conv_same", "Conv", {image, parameter({2, 2, 3, 3})}, {{"auto_pad", std::string("SAME_UPPER")}}},
      {"Conv_grouped",
       "Conv",
       {fed({kBatch, 4, 5, 5}), parameter({6, 2, 3, 3}), parameter({6})},
       {{"group", std::int64_t{2}}}},
      {"Conv_depthwise",
       "Conv",
       {fed({kBatch, 3, 5, 5}), parameter({3, 1, 3, 3})},
       {{"group", std::int64_t{3}}, {"pads", Ints{1, 1, 1, 1}}}},
      {"Conv_pointwise", "Conv", {image, parameter({5, 2, 1, 1})}},
      {"Conv_many_outputs",
       "Conv",
       {image, parameter({5, 2, 3, 2}), parameter({5})},
       {{"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 2, 1}}, {"dilations", Ints{1, 2}}}},
      {"Conv_many_outputs_grouped",
       "Conv",
       {fed({kBatch, 4, 5, 4}), parameter({8, 2, 2, 3})},
       {{"strides", Ints{1, 2}}, {"group", std::int64_t{2}}, {"pads", Ints{0, 1, 1, 2}}}},
      {"ConvTranspose_many_inputs",
       "ConvTranspose",
       {fed({kBatch, 5, 3, 3}), parameter({5, 2, 3, 2}), parameter({2})},
       {{"strides", Ints{2, 1}}, {"output_padding", Ints{1, 0}}}},
      {"ConvTranspose_pointwise", "ConvTranspose", {fed({kBatch, 5, 3, 3}), parameter({5, 2, 1, 1})}},
      {"Conv_whole_image", "Conv", {image, parameter({2, 2, 7, 6})}},
      {"Conv_signal", "Conv", {signal, parameter({3, 2, 3}), parameter({3})}, {{"pads", Ints{2, 1}}}},
      {"Conv_signal_strided",
       "Conv",
       {fed({kBatch, 4, 9}), parameter({2, 2, 2})},
       {{"strides", Ints{2}}, {"dilations", Ints{3}}, {"group", std::int64_t{2}}}},
      {"Conv_signal_same", "Conv", {signal, parameter({1, 2, 4})}, {{"auto_pad", std::string("SAME_LOWER")}}},
      {"ConvTranspose_plain", "ConvTranspose", {small, parameter({2, 3, 3, 2}), parameter({3})}},
      {"ConvTranspose_fed", "ConvTranspose", {small, fed({2, 3, 2, 2}), fed({3})}},
      {"ConvTranspose_strided",
       "ConvTranspose",
       {small, parameter({2, 1, 3, 2})},
       {{"strides", Ints{2, 3}}, {"pads", Ints{1, 0, 2, 1}}, {"output_padding", Ints{1, 2}}}},
      {"ConvTranspose_dilated_grouped",
       "ConvTranspose",
       {fed({kBatch, 4, 3, 2}), parameter({4, 3, 2, 2}), parameter({6})},
       {{"dilations", Ints{1, 2}}, {"group", std::int64_t{2}}}},
      {"ConvTranspose_output_shape",
       "ConvTranspose",
       {small, parameter({2, 2, 3, 3})},
       {{"strides", Ints{3, 2}}, {"output_shape", Ints{10, 8}}}},
      {"ConvTranspose_same",
       "ConvTranspose",
       {small, parameter({2, 2, 3, 3})},
       {{"strides", Ints{2, 2}}, {"auto_pad", std::string("SAME_UPPER")}}},
      {"ConvTranspose_signal", "ConvTranspose", {signal, parameter({2, 3, 4}), parameter({3})}, {{"strides", Ints{2}}}},
  };
}

}  // namespace mangrove::samples
