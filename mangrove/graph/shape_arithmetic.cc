// Arithmetic, comparisons and choices on the values of shape computations.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "mangrove/graph/broadcast.h"
#include "mangrove/graph/element_type.h"
#include "mangrove/graph/onnx.pb.h"
#include "mangrove/graph/onnx_tensor.h"
#include "mangrove/graph/shape_evaluators.h"
#include "mangrove/tensor/sixteen_bits.h"

namespace mangrove::shape_evaluators {
namespace {

using Element = ShapeValue::Element;

// As the type would hold it: f32 rounds, integers must fit.
Result<Element> stored_as(DType dtype, Element element) {
  const auto fits = [&](auto zero) {
    using T = decltype(zero);
    return element.integer >= std::numeric_limits<T>::min() && element.integer <= std::numeric_limits<T>::max();
  };
  if (dtype == DType::f32) element.real = static_cast<float>(element.real);
  const bool held = (dtype != DType::i32 || fits(std::int32_t())) && (dtype != DType::u8 || fits(std::uint8_t())) &&
                    (dtype != DType::i8 || fits(std::int8_t()));
  if (!held) return unknown(std::to_string(element.integer) + " does not fit into " + dtype_name(dtype));
  return element;
}

using Unary = Result<Element> (*)(DType dtype, const Element& a);
using Binary = Result<Element> (*)(DType dtype, const Element& a, const Element& b);

template <Unary kOperation>
Result<ShapeValue> each(const Node&, Inputs inputs) {
  ShapeValue result = *inputs[0];
  for (Element& element : result.elements) {
    MG_TRY(const Element computed, kOperation(result.dtype, element));
    MG_TRY(element, stored_as(result.dtype, computed));
  }
  return result;
}

// The operands' elements side by side under the shape that they broadcast to.
struct Pairs {
  Shape shape;
  std::vector<Element> a, b;
};

Result<Pairs> broadcast_pairs(const ShapeValue& a, const ShapeValue& b) {
  Pairs pairs;
  MG_TRY(pairs.shape, broadcast(a.shape, b.shape));
  MG_RETURN_IF_ERROR(elements_to_store(pairs.shape));
  if (pairs.shape.is_symbolic()) {
    if (a.elements.size() != 1 || b.elements.size() != 1) return unknown("values that differ, repeated over the batch");
    pairs.a = a.elements;
    pairs.b = b.elements;
    return pairs;
  }
  pairs.a = strided(a, pairs.shape, broadcast_strides(a.shape, pairs.shape)).elements;
  pairs.b = strided(b, pairs.shape, broadcast_strides(b.shape, pairs.shape)).elements;
  return pairs;
}

Result<ShapeValue> combine(const ShapeValue& a, const ShapeValue& b, Binary operation, DType result_type) {
  if (a.dtype != b.dtype) return unknown("operands of different types");
  MG_TRY(const Pairs pairs, broadcast_pairs(a, b));
  ShapeValue result{.dtype = result_type, .shape = pairs.shape, .elements = {}};
  for (std::size_t i = 0; i < pairs.a.size(); ++i) {
    MG_TRY(const Element computed, operation(a.dtype, pairs.a[i], pairs.b[i]));
    MG_TRY(const Element stored, stored_as(result_type, computed));
    result.elements.push_back(stored);
  }
  return result;
}

template <Binary kOperation>
Result<ShapeValue> arithmetic_of(const Node&, Inputs inputs) {
  ShapeValue result = *inputs[0];
  for (const ShapeValue* next : inputs.subspan(1)) {
    MG_TRY(result, combine(result, *next, kOperation, result.dtype));
  }
  return result;
}

template <Binary kOperation>
Result<ShapeValue> comparison_of(const Node&, Inputs inputs) {
  return combine(*inputs[0], *inputs[1], kOperation, DType::boolean);
}

std::string text_of(DType dtype, const Element& element) {
  if (element.is_batch()) return (element.batches == 1 ? "" : std::to_string(element.batches)) + "N";
  return is_floating(dtype) ? std::to_string(element.real) : std::to_string(element.integer);
}

Error batch_arithmetic(DType dtype, const Element& a, const char* operation, const Element& b) {
  return unknown("arithmetic on the batch N: " + text_of(dtype, a) + " " + operation + " " + text_of(dtype, b) +
                 "; it may only be multiplied by whole numbers, and divided where nothing remains; a fixed batch " +
                 "can be computed with: give the input's shape with a number for N (--input-shape)");
}

Result<Element> times_the_batch(std::int64_t batches) {
  if (batches < 1 || batches > kMostBatches) return unknown(std::to_string(batches) + " times the batch");
  return Element{.batches = batches};
}

// The whole number that a factor of the batch can be; nothing for a fraction and what is below 1.
std::optional<std::int64_t> whole(DType dtype, const Element& element) {
  if (element.is_batch()) return std::nullopt;
  if (!is_floating(dtype)) return element.integer >= 1 ? std::optional(element.integer) : std::nullopt;
  const bool is_whole = element.real >= 1 && element.real <= static_cast<double>(kMostBatches) &&
                        element.real == std::floor(element.real);
  return is_whole ? std::optional(static_cast<std::int64_t>(element.real)) : std::nullopt;
}

bool is_zero(DType dtype, const Element& element) {
  return !element.is_batch() && (is_floating(dtype) ? element.real == 0 : element.integer == 0);
}

Element number(DType dtype, std::int64_t value) {
  return is_floating(dtype) ? Element{.real = static_cast<double>(value)} : Element{.integer = value};
}

Result<Element> add(DType dtype, const Element& a, const Element& b) {
  if (a.is_batch() && b.is_batch()) return times_the_batch(a.batches + b.batches);
  if (a.is_batch() && is_zero(dtype, b)) return a;
  if (b.is_batch() && is_zero(dtype, a)) return b;
  if (a.is_batch() || b.is_batch()) return batch_arithmetic(dtype, a, "+", b);
  if (is_floating(dtype)) return Element{.real = a.real + b.real};
  Element sum;
  if (__builtin_add_overflow(a.integer, b.integer, &sum.integer)) return unknown("an overflow");
  return sum;
}

Result<Element> subtract(DType dtype, const Element& a, const Element& b) {
  if (a.is_batch() && a.batches == b.batches) return Element{};
  if (a.is_batch() && a.batches > b.batches && b.is_batch()) return times_the_batch(a.batches - b.batches);
  if (a.is_batch() && is_zero(dtype, b)) return a;
  if (a.is_batch() || b.is_batch()) return batch_arithmetic(dtype, a, "-", b);
  if (is_floating(dtype)) return Element{.real = a.real - b.real};
  Element difference;
  if (__builtin_sub_overflow(a.integer, b.integer, &difference.integer)) return unknown("an overflow");
  return difference;
}

Result<Element> multiply_batch(DType dtype, const Element& a, const Element& b) {
  const std::optional<std::int64_t> factor = whole(dtype, a.is_batch() ? b : a);
  std::int64_t batches = 0;
  if (!factor || __builtin_mul_overflow(a.is_batch() ? a.batches : b.batches, *factor, &batches)) {
    return batch_arithmetic(dtype, a, "*", b);
  }
  return times_the_batch(batches);
}

Result<Element> multiply(DType dtype, const Element& a, const Element& b) {
  if (is_zero(dtype, a) || is_zero(dtype, b)) return number(dtype, 0);
  if (a.is_batch() || b.is_batch()) return multiply_batch(dtype, a, b);
  if (is_floating(dtype)) return Element{.real = a.real * b.real};
  Element product;
  if (__builtin_mul_overflow(a.integer, b.integer, &product.integer)) return unknown("an overflow");
  return product;
}

// What is left is a multiple of the batch, or, of two multiples, a number.
Result<Element> divide_batch(DType dtype, const Element& a, const Element& b) {
  const std::optional<std::int64_t> divisor = b.is_batch() ? std::optional(b.batches) : whole(dtype, b);
  if (!divisor || a.batches % *divisor != 0 || !a.is_batch()) return batch_arithmetic(dtype, a, "/", b);
  if (b.is_batch()) return number(dtype, a.batches / *divisor);
  return times_the_batch(a.batches / *divisor);
}

// Integers are divided as in C: towards zero.
Result<Element> divide(DType dtype, const Element& a, const Element& b) {
  if (a.is_batch() || b.is_batch()) return divide_batch(dtype, a, b);
  if (is_floating(dtype)) return Element{.real = a.real / b.real};
  if (b.integer == 0) return unknown("a division by zero");
  if (b.integer == -1) return subtract(dtype, Element{}, a);  // the least integer has no positive counterpart
  return Element{.integer = a.integer / b.integer};
}

// The remainder of a multiple of the batch is known where it is 0.
Result<Element> modulo_batch(DType dtype, const Element& a, const Element& b) {
  if (!divide_batch(dtype, a, b).ok()) return batch_arithmetic(dtype, a, "mod", b);
  return number(dtype, 0);
}

// With the sign of the divisor, as ONNX's Mod of integers.
Result<Element> modulo(DType dtype, const Element& a, const Element& b) {
  if (a.is_batch() || b.is_batch()) return modulo_batch(dtype, a, b);
  if (is_floating(dtype)) return unknown("a remainder of reals");
  if (b.integer == 0) return unknown("a division by zero");
  if (b.integer == -1) return Element{};
  const std::int64_t rest = a.integer % b.integer;
  return Element{.integer = rest != 0 && (rest < 0) != (b.integer < 0) ? rest + b.integer : rest};
}

bool less_than(DType dtype, const Element& a, const Element& b) {
  return is_floating(dtype) ? a.real < b.real : a.integer < b.integer;
}

// Which is smaller, as far as that does not depend on the batch, which is 1 at least.
Result<bool> is_less(DType dtype, const Element& a, const Element& b) {
  if (a.is_batch() && b.is_batch()) return a.batches < b.batches;
  if (!a.is_batch() && !b.is_batch()) return less_than(dtype, a, b);
  if (!is_floating(dtype) && a.is_batch() && b.integer <= a.batches) return false;
  if (!is_floating(dtype) && b.is_batch() && a.integer < b.batches) return true;
  return batch_arithmetic(dtype, a, "<", b);
}

Result<Element> minimum(DType dtype, const Element& a, const Element& b) {
  MG_TRY(const bool second, is_less(dtype, b, a));
  return second ? b : a;
}

Result<Element> maximum(DType dtype, const Element& a, const Element& b) {
  MG_TRY(const bool second, is_less(dtype, a, b));
  return second ? b : a;
}

Result<Element> less(DType dtype, const Element& a, const Element& b) {
  MG_TRY(const bool answer, is_less(dtype, a, b));
  return Element{.integer = answer};
}

Result<Element> greater(DType dtype, const Element& a, const Element& b) {
  return less(dtype, b, a);
}

Result<Element> equal(DType dtype, const Element& a, const Element& b) {
  if (a.is_batch() && b.is_batch()) return Element{.integer = a.batches == b.batches};
  if (a.is_batch() || b.is_batch()) {  // k times the batch is no number below k, e.g. not the -1 that stands for "keep"
    const Element &multiple = a.is_batch() ? a : b, &other = a.is_batch() ? b : a;
    if (is_floating(dtype) || (other.integer >= multiple.batches && other.integer % multiple.batches == 0)) {
      return batch_arithmetic(dtype, a, "==", b);
    }
    return Element{.integer = 0};
  }
  return Element{.integer = is_floating(dtype) ? a.real == b.real : a.integer == b.integer};
}

Result<Element> both(DType, const Element& a, const Element& b) {
  return Element{.integer = a.integer != 0 && b.integer != 0};
}

Result<Element> either(DType, const Element& a, const Element& b) {
  return Element{.integer = a.integer != 0 || b.integer != 0};
}

Result<Element> negated(DType, const Element& a) {
  return Element{.integer = a.integer == 0};
}

// A multiple of the batch is whole.
Result<Element> floor_of(DType, const Element& a) {
  if (a.is_batch()) return a;
  return Element{.real = std::floor(a.real)};
}

Result<Element> ceil_of(DType, const Element& a) {
  if (a.is_batch()) return a;
  return Element{.real = std::ceil(a.real)};
}

Result<Element> minus(DType dtype, const Element& a) {
  return subtract(dtype, Element{}, a);
}

Result<Element> magnitude(DType dtype, const Element& a) {
  if (a.is_batch()) return a;
  return less_than(dtype, a, Element{}) ? minus(dtype, a) : a;
}

Result<ShapeValue> where(const Node&, Inputs inputs) {
  const ShapeValue& condition = *inputs[0];
  if (inputs[1]->dtype != inputs[2]->dtype) return unknown("operands of different types");
  MG_TRY(const Pairs choices, broadcast_pairs(*inputs[1], *inputs[2]));
  ShapeValue result{.dtype = inputs[1]->dtype, .shape = choices.shape, .elements = choices.a};
  MG_TRY(const Pairs chosen, broadcast_pairs(condition, result));
  result.elements = choices.b;
  result.shape = choices.shape;
  MG_TRY(const Pairs others, broadcast_pairs(condition, result));
  result.shape = chosen.shape;
  result.elements = others.b;
  for (std::size_t i = 0; i < result.elements.size(); ++i) {
    if (chosen.a[i].integer != 0) result.elements[i] = chosen.b[i];
  }
  return result;
}

// Of a type of 16 bits, whose values are f32 here.
float rounded(std::int64_t to, float value) {
  return to == onnx::TensorProto::FLOAT16 ? rounded_to_float16(value) : rounded_to_bfloat16(value);
}

// Reals are cut off towards zero, as in C; those that no integer holds are refused.
Result<ShapeValue> cast(const Node& node, Inputs inputs) {
  MG_TRY(const std::int64_t to, attribute_or<std::int64_t>(node, "to", 0));
  MG_TRY(const DType dtype, decode_dtype(static_cast<std::int32_t>(to)));
  ShapeValue result = *inputs[0];
  const bool from_real = is_floating(result.dtype);
  result.dtype = dtype;
  for (Element& element : result.elements) {
    if (element.is_batch() && dtype == DType::boolean) element = {.integer = 1};  // a batch holds at least one sample
    if (element.is_batch()) continue;
    if (from_real && !is_floating(dtype)) {
      if (!(std::abs(element.real) < 9e18)) return unknown("a real that no integer holds");
      element = {.integer = dtype == DType::boolean ? element.real != 0 : static_cast<std::int64_t>(element.real)};
    } else if (!from_real && is_floating(dtype)) {
      element = {.real = static_cast<double>(element.integer)};
    }
    if (dtype == DType::boolean) element.integer = element.integer != 0;
    MG_TRY(element, stored_as(dtype, element));
    if (is_sixteen_bit_float(to)) element.real = rounded(to, static_cast<float>(element.real));
  }
  return result;
}

// ReduceProd: axes and keepdims are attributes; without axes, all are multiplied.
Result<ShapeValue> reduce_prod(const Node& node, Inputs inputs) {
  const ShapeValue& value = *inputs[0];
  if (value.shape.rank() > 1) return unknown("a product over a value of rank " + std::to_string(value.shape.rank()));
  MG_TRY(const std::int64_t keep, attribute_or<std::int64_t>(node, "keepdims", 1));
  const Element one = is_floating(value.dtype) ? Element{.real = 1} : Element{.integer = 1};
  Element product = one;
  for (const Element& element : value.elements) {
    MG_TRY(const Element computed, multiply(value.dtype, product, element));
    MG_TRY(product, stored_as(value.dtype, computed));
  }
  const bool scalar = keep == 0 || value.shape.rank() == 0;
  return ShapeValue{.dtype = value.dtype, .shape = scalar ? Shape{} : Shape{1}, .elements = {product}};
}

// With fmod the remainder has the sign of the dividend: the kernel computes it.
Result<ShapeValue> remainder_of(const Node& node, Inputs inputs) {
  MG_TRY(const std::int64_t fmod, attribute_or<std::int64_t>(node, "fmod", 0));
  return fmod != 0 ? Result<ShapeValue>(unknown("a remainder with attribute fmod"))
                   : arithmetic_of<modulo>(node, inputs);
}

constexpr std::size_t kAny = 64;

constexpr Row kRows[] = {
    {"Abs", 1, 1, each<magnitude>},
    {"Add", 2, 2, arithmetic_of<add>},
    {"And", 2, 2, comparison_of<both>},
    {"Cast", 1, 1, cast},
    {"Ceil", 1, 1, each<ceil_of>},
    {"Div", 2, 2, arithmetic_of<divide>},
    {"Equal", 2, 2, comparison_of<equal>},
    {"Floor", 1, 1, each<floor_of>},
    {"Greater", 2, 2, comparison_of<greater>},
    {"Less", 2, 2, comparison_of<less>},
    {"Max", 1, kAny, arithmetic_of<maximum>},
    {"Min", 1, kAny, arithmetic_of<minimum>},
    {"Mod", 2, 2, remainder_of},
    {"Mul", 2, 2, arithmetic_of<multiply>},
    {"Neg", 1, 1, each<minus>},
    {"Not", 1, 1, each<negated>},
    {"Or", 2, 2, comparison_of<either>},
    {"ReduceProd", 1, 1, reduce_prod},
    {"Sub", 2, 2, arithmetic_of<subtract>},
    {"Where", 3, 3, where},
};

}  // namespace

std::span<const Row> arithmetic() {
  return kRows;
}

}  // namespace mangrove::shape_evaluators
