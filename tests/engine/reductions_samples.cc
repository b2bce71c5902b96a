#include "tests/engine/operator_samples.h"

namespace mangrove::samples {
namespace {

using Ints = std::vector<std::int64_t>;

}  // namespace

std::vector<OperatorSample> reductions() {
  const SampleInput x = fed({kBatch, 3, 2, 5}), positive = fed({kBatch, 3, 2, 5}, 0.2, 1);
  const std::int64_t no = 0, one = 1, last = -1;
  std::vector<OperatorSample> samples;
  for (const std::string op : {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
                               "ReduceMin", "ReduceProd", "ReduceSumSquare"}) {
    const SampleInput& of = op == "ReduceLogSum" ? positive : x;  // whose logarithm there is
    samples.push_back({op + "_all", op, {of}});
    samples.push_back({op + "_image", op, {of}, {{"axes", Ints{2, 3}}}});
    samples.push_back({op + "_middle", op, {of}, {{"axes", Ints{1}}, {"keepdims", no}}});
    samples.push_back({op + "_outer_and_last", op, {of}, {{"axes", Ints{1, -1}}, {"keepdims", no}}});
    samples.push_back({op + "_batch", op, {of}, {{"axes", Ints{0}}}});
  }
  const SampleInput wide = fed_type(DType::i64, {kBatch, 4}, -9, 9);
  for (const std::string op : {"ReduceL1", "ReduceProd", "ReduceSumSquare"})
    samples.push_back({op + "_integers", op, {wide}, {{"axes", Ints{1}}}, 1, false});
  for (OperatorSample& sample : std::vector<OperatorSample>{
           {"ReduceSum_all", "ReduceSum", {x}},
           {"ReduceSum_image", "ReduceSum", {x, integers({-1, -2})}, {{"keepdims", no}}},
           {"ReduceSum_nothing", "ReduceSum", {x, integers({})}, {{"noop_with_empty_axes", one}}},
           {"ReduceSum_integers", "ReduceSum", {fed_type(DType::i64, {kBatch, 4}, -9, 9), integers({1})}, {}, 1, false},
           {"ArgMax", "ArgMax", {fed({3, 4})}},
           {"ArgMin_first_of_equal", "ArgMin", {fed_type(DType::i32, {kBatch, 9}, 0, 3)}, {{"axis", last}}},
           {"CumSum", "CumSum", {x, integers({2})}},
           {"CumSum_last_from_end", "CumSum", {x, integers({-1})}, {{"reverse", one}}},
           {"CumSum_exclusive", "CumSum", {x, integers({1})}, {{"exclusive", one}}},
           {"CumSum_exclusive_from_end", "CumSum", {x, integers({3})}, {{"exclusive", one}, {"reverse", one}}},
           {"CumSum_integers", "CumSum", {fed_type(DType::i32, {kBatch, 7}, -9, 9), integers({1})}, {}, 1, false},
           {"ArgMax_classes", "ArgMax", {x}, {{"axis", one}, {"keepdims", no}}},
           {"ArgMax_last_of_equal",
            "ArgMax",
            {fed_type(DType::i32, {kBatch, 9}, 0, 3)},
            {{"axis", last}, {"select_last_index", one}}},
           {"TopK", "TopK", {x, integers({3})}, {}, 2},
           {"TopK_values_only", "TopK", {x, integers({2})}, {{"axis", one}}},
           {"TopK_smallest", "TopK", {x, integers({1})}, {{"axis", one}, {"largest", no}, {"sorted", no}}, 2},
           {"TopK_integers", "TopK", {fed_type(DType::i64, {kBatch, 9}, 0, 4), integers({4})}, {}, 2, false}}) {
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace mangrove::samples
