#include "tests/engine/operator_samples.h"

namespace mangrove::samples {
namespace {

const SampleInput kImage = fed({kBatch, 3, 2, 5});

void add_unary(std::vector<OperatorSample>& samples) {
  const SampleInput positive = fed({kBatch, 3, 2, 5}, 0.5, 3);
  for (const std::string op :
       {"Abs", "Asinh", "Atan", "Ceil", "Cos", "Cosh", "Exp", "Floor", "Neg", "Round", "Sign", "Sin", "Sinh", "Tan"})
    samples.push_back({op, op, {kImage}});
  for (const std::string op : {"Log", "Reciprocal", "Sqrt"}) samples.push_back({op, op, {positive}});
  const SampleInput inside = fed({kBatch, 3, 2, 5}, -0.8, 0.8), above = fed({kBatch, 3, 2, 5}, 1.5, 3);
  for (const std::string op : {"Acos", "Asin", "Atanh"}) samples.push_back({op, op, {inside}});
  samples.push_back({"Acosh", "Acosh", {above}});
  for (const std::string op : {"Abs", "Neg", "Sign"}) {
    const SampleInput whole = fed_type(DType::i64, {kBatch, 4}, -9, 9);
    samples.push_back({op + "_integers", op, {whole}, {}, 1, false});
  }
}

// Every way to broadcast; `b` keeps away from zero and from a, where Div and Max have no derivative.
void add_binary(std::vector<OperatorSample>& samples, const std::string& op) {
  const auto a = [](Shape shape) { return fed(std::move(shape), 0.2, 1); };
  const auto b = [](Shape shape) { return parameter(std::move(shape), 0.3, 2); };
  for (OperatorSample& sample :
       std::vector<OperatorSample>{{op + "_same_shape", op, {a({kBatch, 3, 2, 5}), fed({kBatch, 3, 2, 5}, 0.3, 2)}},
                                   {op + "_channels", op, {a({kBatch, 3, 2, 5}), b({3, 1, 1})}},
                                   {op + "_channels_first", op, {b({1, 3, 1, 1}), a({kBatch, 3, 2, 5})}},
                                   {op + "_rows", op, {a({kBatch, 5}), b({5})}},
                                   {op + "_one_element", op, {b({1}), a({kBatch, 3, 2, 5})}},
                                   {op + "_excitation", op, {a({kBatch, 3, 2, 5}), fed({kBatch, 3, 1, 1}, 0.3, 2)}},
                                   {op + "_spatial", op, {fed({kBatch, 1, 2, 5}, 0.3, 2), a({kBatch, 3, 2, 5})}},
                                   {op + "_both_broadcast", op, {a({kBatch, 1, 4}), fed({3, 1}, 0.3, 2)}},
                                   {op + "_scalar", op, {a({kBatch, 4}), scalar(0.5)}},
                                   {op + "_of_scalar", op, {scalar(0.5), a({kBatch, 3, 2, 2})}},
                                   {op + "_integers",
                                    op,
                                    {fed_type(DType::i64, {kBatch, 4}, -9, 9), fed_type(DType::i64, {4}, -3, 3)},
                                    {},
                                    1,
                                    false}}) {
    samples.push_back(std::move(sample));
  }
}

void add_variadic(std::vector<OperatorSample>& samples, const std::string& op) {
  samples.push_back({op + "_one", op, {kImage}});
  samples.push_back({op + "_two", op, {kImage, kImage}});
  samples.push_back({op + "_three_broadcast", op, {kImage, fed({3, 1, 1}), fed({kBatch, 1, 2, 5})}});
}

}  // namespace

std::vector<OperatorSample> arithmetic() {
  std::vector<OperatorSample> samples;
  add_unary(samples);
  for (const std::string op : {"Add", "Sub", "Mul", "Div", "Pow"}) add_binary(samples, op);
  for (const std::string op : {"Max", "Mean", "Min", "Sum"}) add_variadic(samples, op);
  const SampleInput wide = fed_type(DType::i64, {kBatch, 4}, -9, 9), divisor = fed_type(DType::i64, {4}, -3, 3);
  const SampleInput whole = fed_type(DType::i32, {kBatch, 4}, 0, 4);
  for (OperatorSample& sample : std::vector<OperatorSample>{
           {"Mod_reals", "Mod", {fed({kBatch, 4}, 2.1, 2.9), fed({4}, -0.99, -0.71)}, {{"fmod", std::int64_t{1}}}},
           {"Mod_sign_of_divisor", "Mod", {wide, divisor}, {}, 1, false},
           {"Mod_as_in_C", "Mod", {wide, divisor}, {{"fmod", std::int64_t{1}}}, 1, false},
           {"Pow_square", "Pow", {kImage, scalar(2.0)}},
           {"Pow_cube", "Pow", {kImage, constant(Tensor::of<std::int64_t>({}, {3}))}},
           {"Pow_root", "Pow", {fed({kBatch, 4}, 0.5, 2), scalar(0.5)}},
           {"Pow_integer_to_real", "Pow", {whole, scalar(1.5)}, {}, 1, false},
           {"Max_integers", "Max", {whole, whole}, {}, 1, false},
           {"Min_integers", "Min", {whole, fed_type(DType::i32, {4}, 0, 4)}, {}, 1, false}}) {
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace mangrove::samples
