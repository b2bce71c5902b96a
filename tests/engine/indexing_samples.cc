#include "tests/engine/operator_samples.h"

namespace mangrove::samples {
namespace {

SampleInput indices_of(const Shape& shape, const std::vector<std::int64_t>& values) {
  return constant(Tensor::of<std::int64_t>(shape, values));
}

SampleInput fed_indices(Shape shape, double low, double high) {
  return fed_type(DType::i64, std::move(shape), low, high);
}

std::map<std::string, Attribute> with_reduction(const std::string& reduction, std::int64_t axis) {
  return {{"axis", axis}, {"reduction", reduction}};
}

std::vector<OperatorSample> gathering_elements() {
  const SampleInput x = fed({kBatch, 3, 4});
  const std::int64_t one = 1, last = -1;
  return {
      {"GatherElements", "GatherElements", {fed({3, 4}), indices_of({2, 3}, {2, 0, 2, -1, 1, 0})}},
      {"GatherElements_fed", "GatherElements", {x, fed_indices({kBatch, 2, 4}, -3, 2)}, {{"axis", one}}},
      {"GatherElements_outside", "GatherElements", {x, fed_indices({kBatch, 3, 6}, -9, 9)}, {{"axis", last}}},
      {"GatherElements_integers",
       "GatherElements",
       {fed_type(DType::i32, {kBatch, 4}, -9, 9), fed_type(DType::i32, {kBatch, 2}, 0, 3)},
       {{"axis", one}},
       1,
       false},
      {"GatherND_elements", "GatherND", {fed({3, 4}), indices_of({3, 2}, {2, 0, -1, 1, 2, 0})}},
      {"GatherND_slices", "GatherND", {fed({3, 4, 2}), indices_of({2, 2, 1}, {2, 0, -1, 0})}},
      {"GatherND_batch", "GatherND", {x, fed_indices({kBatch, 5, 2}, -3, 2)}, {{"batch_dims", one}}},
      {"GatherND_batch_of_slices", "GatherND", {x, fed_indices({kBatch, 2, 1}, -9, 9)}, {{"batch_dims", one}}},
      {"GatherND_embedding", "GatherND", {parameter({5, 3}), fed_indices({kBatch, 2, 1}, -5, 4)}},
  };
}

std::vector<OperatorSample> scattering() {
  const SampleInput x = fed({kBatch, 3, 4}), updates = fed({kBatch, 2, 4});
  const SampleInput few = fed_indices({kBatch, 2, 4}, -3, 2);
  const SampleInput rows = indices_of({3, 1}, {2, 0, 2});  // the last replaces the first
  std::vector<OperatorSample> samples{
      {"ScatterElements", "ScatterElements", {x, few, updates}, with_reduction("none", 1)},
      {"ScatterElements_outside",
       "ScatterElements",
       {x, fed_indices({kBatch, 2, 4}, -9, 9), updates},
       with_reduction("none", 1)},
      {"ScatterElements_add", "ScatterElements", {x, few, updates}, with_reduction("add", -2)},
      {"ScatterND", "ScatterND", {fed({4, 3}), rows, fed({3, 3})}},
      {"ScatterND_elements", "ScatterND", {fed({4, 3}), indices_of({2, 2}, {3, -1, 0, 1}), parameter({2})}},
      {"ScatterND_add", "ScatterND", {parameter({4, 3}), rows, fed({3, 3})}, {{"reduction", std::string("add")}}},
  };
  const SampleInput whole = fed_type(DType::i32, {kBatch, 3, 4}, -9, 9),
                    whole_updates = fed_type(DType::i32, {kBatch, 2, 4}, -9, 9);
  for (const std::string reduction : {"mul", "max", "min"}) {
    const std::vector<SampleInput> inputs{whole, few, whole_updates};
    samples.push_back(
        {"ScatterElements_" + reduction, "ScatterElements", inputs, with_reduction(reduction, 1), 1, false});
  }
  return samples;
}

std::vector<OperatorSample> marking() {
  const SampleInput depth = integers({4}), values = constant(Tensor::of<float>({2}, {-1, 2}));
  return {
      {"OneHot", "OneHot", {fed_indices({kBatch, 3}, -5, 5), depth, values}},
      {"OneHot_first_axis", "OneHot", {fed_indices({3, kBatch}, 0, 3), depth, values}, {{"axis", std::int64_t{0}}}},
      {"OneHot_of_reals", "OneHot", {fed({kBatch}, -6, 6), constant(Tensor::of<float>({}, {5})), fed({2})}},
  };
}

}  // namespace

std::vector<OperatorSample> indexing() {
  std::vector<OperatorSample> all;
  for (const auto part : {gathering_elements, scattering, marking}) {
    for (OperatorSample& sample : part()) all.push_back(std::move(sample));
  }
  return all;
}

}  // namespace mangrove::samples
