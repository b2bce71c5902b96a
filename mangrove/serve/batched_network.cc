#include "mangrove/serve/batched_network.h"

#include <fmt/format.h>

#include <algorithm>

#include "mangrove/base/clock.h"
#include "mangrove/base/log.h"
#include "mangrove/engine/load_parameters.h"
#include "mangrove/engine/optimize.h"
#include "mangrove/serve/batch_rows.h"
#include "mangrove/serve/model_metadata.h"

namespace mangrove::serve {
namespace {

/// What the weights of all sizes but the smallest and the largest may take: more sizes save less than that costs.
constexpr Bytes kWeightsBetween = 64 << 20;

/// The bytes of an input or output of an execution, which lies plain.
template <class Function>
auto with_type(DType dtype, const Function& function) {
  switch (dtype) {  // NOLINTNEXTLINE(bugprone-branch-clone): each is of another type
    case DType::f32:
      return function(float());
    case DType::f64:
      return function(double());
    case DType::i32:
      return function(std::int32_t());
    case DType::i64:
      return function(std::int64_t());
    case DType::u8:
      return function(std::uint8_t());
    case DType::i8:
      return function(std::int8_t());
    case DType::boolean:
      return function(bool());
  }
  MG_CHECK(false);
  return function(float());
}

std::byte* input_data(Execution& execution, const std::string& name, DType dtype) {
  return with_type(dtype,
                   [&](auto type) { return std::as_writable_bytes(execution.input<decltype(type)>(name)).data(); });
}

const std::byte* output_data(Execution& execution, const std::string& name, DType dtype) {
  return with_type(dtype, [&](auto type) { return std::as_bytes(execution.output<decltype(type)>(name)).data(); });
}

}  // namespace

Result<std::unique_ptr<BatchedNetwork>> BatchedNetwork::create(const Graph& graph, const ModelOptions& options) {
  std::unique_ptr<BatchedNetwork> network(new BatchedNetwork);
  const bool is_batched = has_batch(graph);
  const auto describe = [&](const std::string& name) {
    const ValueInfo& info = graph.value(name);
    return Value{name, {info.dtype, is_batched ? info.shape : info.shape.with_batch(1)}};
  };
  for (const auto& [name, info] : graph.inputs()) network->inputs_.push_back(describe(name));
  for (const std::string& name : graph.outputs()) network->outputs_.push_back(describe(name));
  MG_TRY(const Optimized optimized, optimize(graph, {.mode = Mode::inference}));
  MG_RETURN_IF_ERROR(network->compile_sizes(optimized.graph, options, is_batched ? options.max_batch : 1));
  return network;
}

/// One sample must do; of more, as many as the memory allows.
Status BatchedNetwork::compile_sizes(const Graph& graph, const ModelOptions& options, std::int64_t max_batch) {
  MG_RETURN_IF_ERROR(compile(graph, options, 1));
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = 2; size < max_batch; size *= 2) sizes.push_back(size);
  if (max_batch > 1) sizes.push_back(max_batch);
  for (bool is_largest = false; !is_largest && !sizes.empty(); sizes.pop_back()) {
    MG_TRY(is_largest, compile_if_it_fits(graph, options, sizes.back()));
  }
  const Bytes weights = sizes_.begin()->second.front()->program().parameter_bytes();
  bool fits = true;
  for (std::size_t i = 0; i < sizes.size() && fits; ++i) {
    if (static_cast<Bytes>(i + 1) * weights > kWeightsBetween) break;
    MG_TRY(fits, compile_if_it_fits(graph, options, sizes[i]));
  }
  return {};
}

/// Whether the memory sufficed.
Result<bool> BatchedNetwork::compile_if_it_fits(const Graph& graph, const ModelOptions& options, std::int64_t size) {
  Status compiled = compile(graph, options, size);
  if (compiled.ok()) return true;
  if (compiled.code() != Code::resource_exhausted) return compiled.error();
  log_info("batch left out", {{"samples", size}, {"why", compiled.error().message}});
  return false;
}

Status BatchedNetwork::compile(const Graph& graph, const ModelOptions& options, std::int64_t size) {
  const int threads = static_cast<int>(options.threads);
  MG_TRY(auto program,
         Program::compile(graph.without_weights(), {.batch = size, .backend = options.backend, .threads = threads}));
  const Bytes weights = program->parameter_bytes();
  const Bytes activations = program->arena_bytes() * options.instances;
  if (options.memory > 0 && memory_ + weights + activations > options.memory)
    return make_error(Code::resource_exhausted,
                      fmt::format("a batch of {} takes {} for weights and {} for activations{}; the limit is {}", size,
                                  format_bytes(weights), format_bytes(activations),
                                  memory_ > 0 ? ", beside " + format_bytes(memory_) + " of other batches" : "",
                                  format_bytes(options.memory)));
  std::vector<std::unique_ptr<Execution>> instances;
  MG_TRY(instances.emplace_back(), Execution::create(std::move(program), threads));
  MG_RETURN_IF_ERROR(load_parameters(*instances.front(), graph));
  while (std::ssize(instances) < options.instances) {
    MG_TRY(instances.emplace_back(), Execution::create_sharing(*instances.front()));
  }
  sizes_[size] = std::move(instances);
  memory_ += weights + activations;
  return {};
}

std::vector<std::int64_t> BatchedNetwork::sizes() const {
  std::vector<std::int64_t> sizes;
  for (const auto& [size, instances] : sizes_) sizes.push_back(size);
  return sizes;
}

void BatchedNetwork::collect(Execution& execution, std::int64_t size, std::span<const BatchPart> parts) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const auto& [name, info] = inputs_[i];
    BatchRows<std::byte> to{input_data(execution, name, info.dtype), size, 0};
    for (const BatchPart& part : parts) {
      const RequestContent& content = part.request->content();
      copy_rows(info, {content.inputs[i].data(), content.samples, part.first}, to, part.count);
      to.first += part.count;
    }
    clear_rows(info, to, size - to.first);
  }
}

void BatchedNetwork::hand_out(Execution& execution, std::int64_t size, std::span<const BatchPart> parts) const {
  std::int64_t row = 0;
  for (const BatchPart& part : parts) {
    const RequestContent& content = part.request->content();
    for (std::size_t k = 0; k < content.outputs.size(); ++k) {
      const auto& [name, info] = outputs_[content.outputs[k]];
      copy_rows(info, {output_data(execution, name, info.dtype), size, row},
                {part.request->results()[k].data(), content.samples, part.first}, part.count);
    }
    row += part.count;
  }
}

std::int64_t BatchedNetwork::samples_at_once(std::int64_t count) const {
  const auto size = sizes_.lower_bound(count);
  return size == sizes_.begin() || size->first <= 2 * count ? count : std::prev(size)->first;
}

BatchTimes BatchedNetwork::run(std::size_t instance, std::span<const BatchPart> parts) {
  const auto& [size, instances] = *sizes_.lower_bound(samples_of(parts));
  Execution& execution = *instances[instance];
  const SteadyClock clock;
  const Instant start = clock.now();
  collect(execution, size, parts);
  const Instant collected = clock.now();
  execution.forward();
  const Instant computed = clock.now();
  hand_out(execution, size, parts);
  return {collected - start, computed - collected, clock.now() - computed};
}

}  // namespace mangrove::serve
