#include "tests/engine/operator_samples.h"

namespace mangrove::samples {
namespace {

using Ints = std::vector<std::int64_t>;

std::map<std::string, Attribute> axis(std::int64_t value) {
  return {{"axis", value}};
}

std::vector<OperatorSample> joining() {
  const SampleInput x = fed({kBatch, 3, 2, 5});
  return {
      {"Concat_channels", "Concat", {x, fed({kBatch, 1, 2, 5}), x}, axis(1)},
      {"Concat_last", "Concat", {fed({4, kBatch, 3}), fed({4, kBatch, 2})}, axis(-1)},
      {"Concat_one", "Concat", {x}, axis(2)},
      {"Concat_blocked_channels", "Concat", {fed({kBatch, 16, 2, 3}), fed({kBatch, 32, 2, 3})}, axis(1)},
      {"Split_equal", "Split", {fed({kBatch, 6, 5})}, axis(1), 3},
      {"Split_sizes", "Split", {fed({kBatch, 3, 7}), integers({4, 1, 2})}, axis(-1), 3},
      {"Split_first_axis", "Split", {fed({4, kBatch})}, {}, 2},
  };
}

std::vector<OperatorSample> cutting() {
  const SampleInput x = fed({kBatch, 5, 4, 6});
  const auto end = std::int64_t{0x7fffffffffffffff};
  return {
      {"Slice_channels", "Slice", {x, integers({1}), integers({4}), integers({1})}},
      {"Slice_steps", "Slice", {x, integers({4, -1}), integers({-9, 0}), integers({1, 3}), integers({-2, -3})}},
      {"Slice_first_axes", "Slice", {x, integers({0, 2}), integers({end, end})}},
      {"Slice_outside", "Slice", {fed({3, kBatch, 4}), integers({-100}), integers({100}), integers({-1})}},
      {"Pad_constant", "Pad", {x, integers({0, 0, 1, 2, 0, 1, 0, 3})}},
      {"Pad_value", "Pad", {x, integers({0, 0, 1, 2, 0, 1, 0, 3}), constant(Tensor::of<float>(Shape(), {0.5f}))}},
      {"Pad_edge", "Pad", {x, integers({0, 1, 1, 2, 0, 0, 2, 7})}, {{"mode", std::string("edge")}}},
      {"Pad_reflect", "Pad", {x, integers({0, 0, 3, 5, 0, 0, 1, 2})}, {{"mode", std::string("reflect")}}},
      {"Pad_negative", "Pad", {x, integers({0, -1, 2, -2, 0, 0, -1, 1})}},
  };
}

std::vector<OperatorSample> turning() {
  const std::map<std::string, Attribute> two{{"blocksize", std::int64_t{2}}};
  return {
      {"Transpose_default", "Transpose", {fed({kBatch, 3, 4})}},
      {"Transpose_last_two", "Transpose", {fed({kBatch, 19, 21})}, {{"perm", Ints{0, 2, 1}}}},
      {"Transpose_shuffle", "Transpose", {fed({kBatch, 2, 3, 4, 5})}, {{"perm", Ints{0, 2, 1, 3, 4}}}},
      {"Transpose_batch_inside", "Transpose", {fed({kBatch, 3, 4})}, {{"perm", Ints{1, 0, 2}}}},
      {"DepthToSpace_DCR", "DepthToSpace", {fed({kBatch, 8, 2, 3})}, two},
      {"DepthToSpace_CRD",
       "DepthToSpace",
       {fed({kBatch, 8, 2, 3})},
       {{"blocksize", std::int64_t{2}}, {"mode", std::string("CRD")}}},
      {"SpaceToDepth", "SpaceToDepth", {fed({kBatch, 2, 4, 6})}, two},
  };
}

std::vector<OperatorSample> repeating() {
  const SampleInput x = fed({kBatch, 3, 4});
  const std::int64_t lower = 0;
  return {
      {"Tile", "Tile", {x, integers({1, 2, 3})}},
      {"Tile_once", "Tile", {x, integers({1, 1, 1})}},
      {"Tile_first_axis", "Tile", {fed({2, kBatch}), integers({3, 1})}},
      {"Trilu", "Trilu", {x}},
      {"Trilu_above", "Trilu", {x, constant(Tensor::of<std::int64_t>({}, {2}))}},
      {"Trilu_lower", "Trilu", {fed({kBatch, 2, 5, 3})}, {{"upper", lower}}},
      {"Trilu_lower_below", "Trilu", {x, constant(Tensor::of<std::int64_t>({}, {-1}))}, {{"upper", lower}}},
      {"Trilu_integers", "Trilu", {fed_type(DType::i32, {kBatch, 4, 4}, -9, 9)}, {}, 1, false},
  };
}

std::vector<OperatorSample> gathering() {
  return {
      {"Gather_rows", "Gather", {fed({6, 4}), integers({5, 0, -1, 0})}},
      {"Gather_inner", "Gather", {fed({kBatch, 3, 4}), integers({2, 2, -3})}, axis(1)},
      {"Gather_embedding", "Gather", {parameter({7, 3}), fed_type(DType::i64, {kBatch, 4}, -7, 6)}},
      {"Gather_scalar", "Gather", {fed({kBatch, 3, 4}), constant(Tensor::of<std::int32_t>(Shape(), {2}))}, axis(2)},
  };
}

OperatorSample resize(const std::string& name, const std::string& mode, const std::string& transformation,
                      std::vector<SampleInput> inputs) {
  return {"Resize_" + name,
          "Resize",
          std::move(inputs),
          {{"mode", mode}, {"coordinate_transformation_mode", transformation}}};
}

std::vector<OperatorSample> resizing() {
  const SampleInput x = fed({kBatch, 2, 3, 4});
  const SampleInput twice = constant(Tensor::of<float>(Shape{4}, {1, 1, 2, 2}));
  const SampleInput odd = constant(Tensor::of<float>(Shape{4}, {1, 1, 1.7f, 0.6f}));
  const SampleInput roi = constant(Tensor::of<float>(Shape{8}, {0, 0, 0.2f, -0.3f, 1, 1, 0.9f, 0.8f}));
  return {
      resize("nearest_twice", "nearest", "asymmetric", {x, absent(), twice}),
      resize("nearest_odd", "nearest", "half_pixel", {x, absent(), odd}),
      resize("linear_twice", "linear", "half_pixel", {x, absent(), twice}),
      resize("linear_odd", "linear", "pytorch_half_pixel", {x, absent(), odd}),
      resize("linear_sizes", "linear", "align_corners", {x, absent(), absent(), integers({-1, 2, 5, 7})}),
      resize("linear_vector", "linear", "asymmetric",
             {fed({5, kBatch}), absent(), constant(Tensor::of<float>(Shape{2}, {2.5f, 1}))}),
      resize("linear_crop", "linear", "tf_crop_and_resize", {x, roi, absent(), integers({-1, 2, 5, 7})}),
      resize("cubic", "cubic", "half_pixel", {x, absent(), odd}),
  };
}

OperatorSample grid_sample(const std::string& name, const std::string& mode, const std::string& padding,
                           std::int64_t align_corners) {
  return {"GridSample_" + name,
          "GridSample",
          {fed({kBatch, 2, 3, 4}), fed({kBatch, 5, 3, 2}, -1.7, 1.7)},
          {{"mode", mode}, {"padding_mode", padding}, {"align_corners", align_corners}}};
}

std::vector<OperatorSample> sampling() {
  return {
      grid_sample("bilinear", "bilinear", "zeros", 0),
      grid_sample("bilinear_aligned", "bilinear", "zeros", 1),
      grid_sample("bilinear_border", "bilinear", "border", 0),
      grid_sample("border_aligned", "bilinear", "border", 1),
      grid_sample("reflection", "bilinear", "reflection", 0),
      grid_sample("reflection_aligned", "bilinear", "reflection", 1),
      grid_sample("nearest", "nearest", "zeros", 0),
      grid_sample("nearest_border", "nearest", "border", 1),
      grid_sample("nearest_reflection", "nearest", "reflection", 0),
  };
}

}  // namespace

std::vector<OperatorSample> movement() {
  std::vector<OperatorSample> all;
  for (const auto part : {joining, cutting, turning, repeating, gathering, resizing, sampling}) {
    for (OperatorSample& sample : part()) all.push_back(std::move(sample));
  }
  return all;
}

}  // namespace mangrove::samples
