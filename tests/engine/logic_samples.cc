#include "tests/engine/operator_samples.h"

namespace mangrove::samples {

std::vector<OperatorSample> logic() {
  const SampleInput x = fed({kBatch, 3, 4}), whole = fed_type(DType::i64, {kBatch, 3, 4}, 0, 2);
  const SampleInput flag = fed_type(DType::boolean, {kBatch, 3, 4}, 0, 1);
  const SampleInput row_flag = fed_type(DType::boolean, {4}, 0, 1);
  std::vector<OperatorSample> samples;
  for (const std::string op : {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"}) {
    samples.push_back({op, op, {x, x}});
    samples.push_back({op + "_integers", op, {whole, fed_type(DType::i64, {4}, 0, 2)}});
  }
  for (const std::string op : {"And", "Or", "Xor"}) {
    samples.push_back({op, op, {flag, flag}});
    samples.push_back({op + "_broadcast", op, {flag, row_flag}});
  }
  for (OperatorSample& sample : std::vector<OperatorSample>{
           {"IsInf", "IsInf", {x}},
           {"IsInf_below", "IsInf", {x}, {{"detect_positive", std::int64_t{0}}}},
           {"IsNaN", "IsNaN", {x}},
           {"Not", "Not", {flag}},
           {"Where", "Where", {flag, x, x}},
           {"Where_broadcast", "Where", {row_flag, fed({kBatch, 3, 1}), fed({3, 4})}},
           {"Where_integers", "Where", {flag, whole, whole}, {}, 1, false},
           {"Cast_f32", "Cast", {x}, {{"to", std::int64_t{1}}}, 1, false},
           {"Cast_f64", "Cast", {x}, {{"to", std::int64_t{11}}}},
           {"Cast_f16", "Cast", {x}, {{"to", std::int64_t{10}}}, 1, false},
           {"Cast_bf16", "Cast", {x}, {{"to", std::int64_t{16}}}, 1, false},
           {"Cast_to_integers", "Cast", {fed({kBatch, 5}, -9, 9)}, {{"to", std::int64_t{7}}}, 1, false},
           {"Cast_of_flags", "Cast", {flag}, {{"to", std::int64_t{1}}}, 1, false}}) {
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace mangrove::samples
