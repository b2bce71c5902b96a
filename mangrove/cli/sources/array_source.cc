#include <algorithm>
#include <map>
#include <optional>

#include "mangrove/base/suggestion.h"
#include "mangrove/cli/sources/batch_copy.h"
#include "mangrove/cli/sources/sample_source.h"
#include "mangrove/tensor/npy.h"

namespace mangrove::cli {
namespace {

struct Array {
  Tensor tensor;                    // all samples
  std::optional<std::size_t> axis;  // of the batch; nothing where the model's input has a fixed shape
};

class ArraySource : public SampleSource {
 public:
  ArraySource(std::map<std::string, Array> arrays, std::string name, std::int64_t count)
      : arrays_(std::move(arrays)), name_(std::move(name)), count_(count) {}

  std::int64_t count() const override { return count_; }
  std::string name(std::int64_t sample) const override {
    return count_ == 1 ? name_ : name_ + "[" + std::to_string(sample) + "]";
  }
  bool has_images() const override { return false; }

  Result<std::vector<Status>> fill(Execution& execution, std::span<const std::int64_t> samples) const override {
    for (const auto& [input, array] : arrays_) {
      if (!array.axis) {
        MG_RETURN_IF_ERROR(execution.set_input(input, array.tensor));
        continue;
      }
      const ValueInfo& info = execution.program().placed_values().at(input).info;
      Tensor batch(info.dtype, info.shape);
      for (std::size_t row = 0; row < samples.size(); ++row) {
        copy_samples(array.tensor, {samples[row], 1}, batch, static_cast<std::int64_t>(row), *array.axis);
      }
      MG_RETURN_IF_ERROR(execution.set_input(input, batch));
    }
    return std::vector<Status>(samples.size());
  }

 private:
  std::map<std::string, Array> arrays_;
  std::string name_;
  std::int64_t count_;
};

template <class From, class To>
Tensor converted(const Tensor& tensor) {
  Tensor result(dtype_of<To>, tensor.shape());
  std::ranges::transform(tensor.as<From>(), result.as<To>().begin(), [](From x) { return static_cast<To>(x); });
  return result;
}

/// What NumPy makes where nobody says otherwise is taken as what models want.
Tensor with_type(Tensor tensor, DType wanted) {
  if (tensor.dtype() == DType::f64 && wanted == DType::f32) return converted<double, float>(tensor);
  if (tensor.dtype() == DType::i32 && wanted == DType::i64) return converted<std::int32_t, std::int64_t>(tensor);
  return tensor;
}

Result<Array> fit(Tensor tensor, const ValueInfo& wanted) {
  Array array{with_type(std::move(tensor), wanted.dtype), wanted.shape.batch_axis()};
  const auto fits = [&](const Shape& shape) {
    return shape == (array.axis && shape.rank() == wanted.shape.rank() ? wanted.shape.with_batch(shape[*array.axis])
                                                                       : wanted.shape);
  };
  if (array.axis && array.tensor.shape().rank() + 1 == wanted.shape.rank()) {  // one sample, without the batch
    std::vector<std::int64_t> dims = array.tensor.shape().dims();
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(*array.axis), 1);
    array.tensor = array.tensor.reshaped(Shape(std::move(dims)));
  }
  if (array.tensor.dtype() == wanted.dtype && fits(array.tensor.shape()) && array.tensor.elements() > 0) return array;
  return make_error(Code::invalid_argument, std::string("the array is ") + dtype_name(array.tensor.dtype()) + " " +
                                                to_string(array.tensor.shape()) + ", the model takes " +
                                                dtype_name(wanted.dtype) + " " + to_string(wanted.shape));
}

/// "name=path" or, where the graph has one input, "path".
Result<std::pair<std::string, std::string>> split(const Graph& graph, const std::string& argument) {
  std::vector<std::string> names;
  for (const auto& [name, info] : graph.inputs()) {
    if (argument.starts_with(name + "=")) return std::pair(name, argument.substr(name.size() + 1));
    names.push_back(name);
  }
  if (names.size() == 1) return std::pair(names[0], argument);
  return make_error(Code::invalid_argument, "--input " + argument + ": the model has the inputs " + join_words(names) +
                                                ", give --input NAME=FILE.npy for each");
}

}  // namespace

Result<std::unique_ptr<SampleSource>> open_arrays(const Graph& graph, const std::vector<std::string>& inputs) {
  std::map<std::string, Array> arrays;
  std::string first_path;
  std::optional<std::int64_t> count;
  for (const std::string& argument : inputs) {
    MG_TRY(const auto named, split(graph, argument));
    const auto& [name, path] = named;
    MG_TRY(const std::string bytes, read_file(path));
    MG_TRY(Tensor tensor, parse_npy(bytes).context(path));
    const auto input = std::ranges::find(graph.inputs(), name, [](const auto& entry) { return entry.first; });
    MG_TRY(Array array, fit(std::move(tensor), input->second).context(path + ": input '" + name + "'"));
    if (array.axis) {
      const std::int64_t samples = array.tensor.shape()[*array.axis];
      if (count && *count != samples) {
        return make_error(Code::invalid_argument, path + ": the array has " + std::to_string(samples) +
                                                      " samples, an earlier one " + std::to_string(*count));
      }
      count = samples;
    }
    if (first_path.empty()) first_path = path;
    if (!arrays.emplace(name, std::move(array)).second) {
      return make_error(Code::invalid_argument, "--input " + argument + ": input '" + name + "' was given before");
    }
  }
  for (const auto& [name, info] : graph.inputs()) {
    if (arrays.contains(name)) continue;
    return make_error(Code::invalid_argument, "no array for input '" + name + "' " + dtype_name(info.dtype) + " " +
                                                  to_string(info.shape) + ": give --input " + name + "=FILE.npy");
  }
  return std::make_unique<ArraySource>(std::move(arrays), std::move(first_path), count.value_or(1));
}

}  // namespace mangrove::cli
