#include "mangrove/serve/protocol/json_elements.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "mangrove/serve/protocol/datatype.h"

namespace mangrove::serve {
namespace {

Error no_such_element(DType dtype, const std::string& element) {
  return make_error(Code::invalid_argument,
                    "its data have " + element + ", which is no " + std::string(datatype_name(dtype)));
}

template <class T>
bool is_within(std::int64_t value) {
  if constexpr (std::is_same_v<T, std::int64_t>) return true;
  return value >= std::int64_t{std::numeric_limits<T>::min()} && value <= std::int64_t{std::numeric_limits<T>::max()};
}

}  // namespace

void JsonElements::count_one() {
  if (!open_.empty()) ++open_.back();
}

void JsonElements::begin_list() {
  count_one();
  open_.push_back(0);
  if (lengths_.size() < open_.size()) lengths_.push_back(-1);
}

void JsonElements::end_list() {
  std::int64_t& expected = lengths_[open_.size() - 1];
  if (expected < 0) expected = open_.back();
  is_ragged_ = is_ragged_ || expected != open_.back();
  open_.pop_back();
}

void JsonElements::add_whole(std::int64_t value) {
  count_one();
  if (is_real_)
    reals_.push_back(static_cast<double>(value));
  else
    wholes_.push_back(value);
}

void JsonElements::add_real(double value) {
  count_one();
  if (!is_real_) reals_.assign(wholes_.begin(), wholes_.end());
  is_real_ = true;
  wholes_ = {};
  reals_.push_back(value);
}

void JsonElements::add_boolean(bool value) {
  add_whole(value ? 1 : 0);
  has_booleans_ = true;
}

void JsonElements::add_other(const char* what) {
  count_one();
  if (other_.empty()) other_ = what;
}

Status JsonElements::check_lists(const std::vector<std::int64_t>& shape, std::int64_t elements) const {
  if (is_ragged_) return make_error(Code::invalid_argument, "lists in its data have unlike lengths");
  // an element beside a list is seen by its depth: then the lists do not multiply to the elements
  const bool is_flat = lengths_.size() <= 1;
  if (!is_flat && lengths_ != shape)
    return make_error(Code::invalid_argument, "the lists in its data are " + to_string(Shape(lengths_)) +
                                                  "; its shape is " + to_string(Shape(shape)));
  if (static_cast<std::int64_t>(size()) != elements)
    return make_error(Code::invalid_argument, "its data have " + std::to_string(size()) + " elements; its shape " +
                                                  to_string(Shape(shape)) + " takes " + std::to_string(elements));
  return {};
}

template <class T>
Status JsonElements::fill(Tensor& tensor) const {
  const std::span<T> out = tensor.as<T>();
  const DType dtype = tensor.dtype();
  for (std::size_t i = 0; i < out.size(); ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      const double value = is_real_ ? reals_[i] : static_cast<double>(wholes_[i]);
      if (std::abs(value) > static_cast<double>(std::numeric_limits<T>::max()))
        return no_such_element(dtype, std::to_string(value));
      out[i] = static_cast<T>(value);
    } else {
      if (is_real_) return no_such_element(dtype, "a number with a fraction, or above 64 bits");
      if (!is_within<T>(wholes_[i])) return no_such_element(dtype, std::to_string(wholes_[i]));
      out[i] = static_cast<T>(wholes_[i]);
    }
  }
  return {};
}

template <>
Status JsonElements::fill<bool>(Tensor& tensor) const {
  const std::span<bool> out = tensor.as<bool>();
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (is_real_ || wholes_[i] < 0 || wholes_[i] > 1)
      return no_such_element(DType::boolean, "a number that is neither 0 nor 1");
    out[i] = wholes_[i] == 1;
  }
  return {};
}

Result<Tensor> JsonElements::tensor(DType dtype, const std::vector<std::int64_t>& shape) const {
  MG_TRY(const std::int64_t elements, count_elements(shape));
  if (!other_.empty()) return no_such_element(dtype, other_);
  if (has_booleans_ && dtype != DType::boolean) return no_such_element(dtype, "true or false");
  MG_RETURN_IF_ERROR(check_lists(shape, elements));
  Tensor tensor(dtype, Shape(shape));
  const Status filled = [&]() -> Status {
    switch (dtype) {
      case DType::f32:
        return fill<float>(tensor);
      case DType::f64:
        return fill<double>(tensor);
      case DType::i32:
        return fill<std::int32_t>(tensor);
      case DType::i64:
        return fill<std::int64_t>(tensor);
      case DType::u8:
        return fill<std::uint8_t>(tensor);
      case DType::i8:
        return fill<std::int8_t>(tensor);
      case DType::boolean:
        return fill<bool>(tensor);
    }
    return {};
  }();
  if (!filled.ok()) return filled.error();
  return tensor;
}

}  // namespace mangrove::serve
