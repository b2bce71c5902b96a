#include "mangrove/engine/execution.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "mangrove/base/check.h"
#include "mangrove/base/clock.h"
#include "mangrove/base/median.h"
#include "mangrove/base/process_cpu.h"
#include "mangrove/base/process_memory.h"
#include "mangrove/engine/memory_plan.h"

namespace mangrove {

// Zeroed memory of one program region.
struct Execution::Region {
  struct Free {
    void operator()(void* block) const { std::free(block); }
  };

  Status allocate(Bytes bytes) {
    auto space = static_cast<std::size_t>(bytes) + kBufferAlignment;
    block.reset(std::calloc(space, 1));
    if (!block) return make_error(Code::resource_exhausted, "cannot allocate " + format_bytes(bytes));
    void* aligned = block.get();
    memory = static_cast<std::byte*>(std::align(kBufferAlignment, static_cast<std::size_t>(bytes), aligned, space));
    return {};
  }

  /// Asks the system for large pages, where it has them: reading much memory once each run, as weights at batch 1,
  /// costs few page table walks then. A wish; what becomes of it does not matter.
  void prefer_large_pages([[maybe_unused]] Bytes bytes) const {
#ifdef MADV_HUGEPAGE
    constexpr Bytes kWorthIt = 4 << 20;
    constexpr std::size_t kPage = 4096;
    if (bytes < kWorthIt) return;
    void* first_page = memory;
    auto space = static_cast<std::size_t>(bytes);
    if (std::align(kPage, kPage, first_page, space) != nullptr) madvise(first_page, space, MADV_HUGEPAGE);
#endif
  }

  std::unique_ptr<void, Free> block;
  std::byte* memory = nullptr;
};

namespace {

/// Checks that there is enough memory. A system may promise memory that it does not have, and ends the process when it
/// writes there.
Status check_memory(Bytes needed) {
  constexpr Bytes kWorthAsking = 64 << 20;  // the system answers in a millisecond
  if (needed < kWorthAsking) return {};
  const Bytes limit = memory_limit();
  if (limit == 0 || needed <= limit) return {};
  return make_error(Code::resource_exhausted, "this process may use " + format_bytes(limit));
}

Seconds wall_time() {
  return SteadyClock().now() - Instant();
}

/// What to time steps with: of one thread, what it computes itself, so that what others take of the core meanwhile, or
/// a quota keeps from it, is not counted.
auto timer(int threads) {
  return threads == 1 ? &thread_cpu_time : &wall_time;
}

/// Bound steps in groups, each run on one slice of the batch after another (mostly one step, in one slice).
struct BoundPass {
  struct Group {
    int slices = 1;
    std::vector<SlicedStep::Bound> steps = {};
    std::vector<std::size_t> ready = {};  // parameters whose gradients it makes or changes last

    void run() const {
      for (int slice = 0; slice < slices; ++slice) {
        for (const SlicedStep::Bound& step : steps) step(slice);
      }
    }
  };

  void run() const {
    for (const Group& group : groups) group.run();
  }

  /// The same, with the time of each step.
  /// now: the time of the calling thread.
  std::vector<Seconds> run_timed(Seconds (*now)()) const {
    std::vector<Seconds> times;
    for (const Group& group : groups) {
      const std::size_t first = times.size();
      times.resize(first + group.steps.size(), 0);
      for (int slice = 0; slice < group.slices; ++slice) {
        for (std::size_t i = 0; i < group.steps.size(); ++i) {
          const Seconds start = now();
          group.steps[i](slice);
          times[first + i] += now() - start;
        }
      }
    }
    return times;
  }

  std::vector<Group> groups;
};

}  // namespace

struct Execution::Impl {
  std::byte* at(const BufferRef& place) const {
    const Region& region = place.region == BufferRef::Region::arena ? arena : *parameters;
    return region.memory + place.offset;
  }

  RandomState* random_state(const Program& program) const {
    return program.random_state() ? reinterpret_cast<RandomState*>(at(*program.random_state())) : nullptr;
  }

  Step::Bound bind_whole(const Program::PlacedStep& placed) const {
    std::vector<std::byte*> buffers;
    for (const BufferRef& place : placed.buffers) buffers.push_back(at(place));
    return placed.step.bind(buffers, placed.step.workspace > 0 ? at(placed.workspace) : nullptr);
  }

  SlicedStep::Bound bind_sliced(const Program::PlacedStep& placed) const {
    std::vector<SliceBuffer> buffers;
    for (std::size_t k = 0; k < placed.buffers.size(); ++k)
      buffers.push_back({at(placed.buffers[k]), static_cast<std::ptrdiff_t>(placed.strides[k])});
    return placed.sliced->bind(buffers, placed.sliced->workspace > 0 ? at(placed.workspace) : nullptr);
  }

  /// Says of each parameter after which group of the backward pass its gradient is done: the first, where no step has
  /// to do with it.
  void find_ready(const Program& program) {
    if (backward.groups.empty()) return;
    std::map<Bytes, std::size_t> last_group;  // by offset among the parameters
    std::size_t group = 0;
    for (const Program::PlacedStep& placed : program.backward_steps()) {
      if (&placed != program.backward_steps().data() && (placed.slices == 1 || placed.starts_group)) ++group;
      for (const BufferRef& buffer : placed.buffers) {
        if (buffer.region == BufferRef::Region::parameters) last_group[buffer.offset] = group;
      }
    }
    const auto& parameters_of_graph = program.graph().parameters();
    for (std::size_t i = 0; i < parameters_of_graph.size(); ++i) {
      const auto found = last_group.find(program.placed_values().at(parameters_of_graph[i]).gradient.offset);
      backward.groups[found == last_group.end() ? 0 : found->second].ready.push_back(i);
    }
  }

  BoundPass bind(const std::vector<Program::PlacedStep>& steps) const {
    BoundPass pass;
    for (const Program::PlacedStep& placed : steps) {
      if (placed.slices == 1 || placed.starts_group) pass.groups.push_back({.slices = placed.slices});
      if (placed.slices == 1) {
        pass.groups.back().steps.push_back([step = bind_whole(placed)](int) { step(); });
      } else {
        pass.groups.back().steps.push_back(bind_sliced(placed));
      }
    }
    return pass;
  }

  Region arena;
  std::shared_ptr<Region> parameters = std::make_shared<Region>();  // perhaps others' too
  bool has_run = false;
  RandomState random = {};  // of the last forward pass
  BoundPass forward, backward;
};

namespace {

/// Runs a reorder between two buffers that the plan does not know. null: both lie plain.
void copy_laid_out(const Step* reorder, const std::byte* from, std::byte* to, std::size_t plain_bytes) {
  if (reorder == nullptr) {
    std::memcpy(to, from, plain_bytes);
    return;
  }
  const Tensor workspace(DType::u8, Shape{reorder->workspace});
  const std::byte* scratch = workspace.data();
  // The step only reads operand 0; its type has no const because other steps write there.
  std::byte* const buffers[] = {const_cast<std::byte*>(from), to};
  reorder->bind(buffers, const_cast<std::byte*>(scratch))();
}

std::size_t plain_bytes(const Program::PlacedValue& placed) {
  return static_cast<std::size_t>(placed.info.shape.elements()) * size_of(placed.info.dtype);
}

const Program::PlacedValue& find(const Program& program, const std::string& name) {
  const auto value = program.placed_values().find(name);
  MG_CHECK_MSG(value != program.placed_values().end(), "no input, output or parameter '" + name + "'");
  return value->second;
}

void check_can_be_read(const Program::PlacedValue& placed, const std::string& name) {
  MG_CHECK_MSG(!placed.layout || !placed.layout->is_one_way(), "weights transformed for inference: " + name);
}

}  // namespace

Execution::Execution(std::shared_ptr<const Program> program, int threads)
    : program_(std::move(program)), threads_(threads), impl_(std::make_unique<Impl>()) {}
Execution::~Execution() = default;

/// Memory for the program's parameters, with its initializers in it.
Status Execution::allocate_parameters() {
  const Program& made = *program_;
  Region& region = *impl_->parameters;
  MG_RETURN_IF_ERROR(region.allocate(made.parameter_bytes()));
  region.prefer_large_pages(made.parameter_bytes());
  take_pages({region.memory, static_cast<std::size_t>(made.parameter_bytes())});  // all is going to be used
  std::set<std::string> to_come;  // zeros now, as is what was allocated: reading them would only take up memory
  if (!made.graph().has_weights()) {
    for (std::string& name : made.graph().parameters()) to_come.insert(std::move(name));
  }
  for (const auto& [name, tensor] : made.graph().initializers()) {
    const auto placed = made.placed_values().find(name);
    if (placed == made.placed_values().end() || to_come.contains(name)) continue;  // no step reads it, or later
    copy_laid_out(placed->second.from_plain.get(), tensor.data(), impl_->at(placed->second.value),
                  static_cast<std::size_t>(tensor.bytes()));
  }
  return {};
}

Result<std::unique_ptr<Execution>> Execution::create(std::shared_ptr<const Program> program, int threads) {
  return create(std::move(program), threads, nullptr);
}

Result<std::unique_ptr<Execution>> Execution::create_sharing(const Execution& other) {
  return create(other.program_, other.threads_, &other);
}

/// With the parameters of this one; null: with its own.
Result<std::unique_ptr<Execution>> Execution::create(std::shared_ptr<const Program> program, int threads,
                                                     const Execution* other) {
  MG_CHECK(threads >= 1);
  std::unique_ptr<Execution> execution(new Execution(std::move(program), threads));
  const Program& made = *execution->program_;
  Impl& impl = *execution->impl_;
  const std::string needs =
      "graph '" + made.graph().name() + "' needs " + format_bytes(made.memory().total()) + " of memory";
  if (!made.options().timing_only) MG_RETURN_IF_ERROR(check_memory(made.memory().total()).context(needs));
  MG_RETURN_IF_ERROR(impl.arena.allocate(made.arena_bytes()).context(needs));
  if (other != nullptr) {
    impl.parameters = other->impl_->parameters;
  } else {
    MG_RETURN_IF_ERROR(execution->allocate_parameters().context(needs));
  }
  impl.forward = impl.bind(made.forward_steps());
  impl.backward = impl.bind(made.backward_steps());
  impl.find_ready(made);
  return execution;
}

void Execution::seed(std::uint64_t seed) {
  if (RandomState* state = impl_->random_state(*program_)) *state = {.seed = seed, .run = 0};
}

void Execution::forward() {
  if (program_->options().timing_only) return clear_outputs();
  // not before, when who made this may still hold the weights that it is made from
  if (!std::exchange(impl_->has_run, true))
    take_pages({impl_->arena.memory, static_cast<std::size_t>(program_->arena_bytes())});
  if (RandomState* state = impl_->random_state(*program_)) {
    ++state->run;
    impl_->random = *state;
  }
  program_->backend().prepare_thread(threads_);
  impl_->forward.run();
}

void Execution::clear_outputs() {
  for (const std::string& name : program_->graph().outputs()) {
    const Program::PlacedValue& placed = find(*program_, name);
    const auto elements = static_cast<std::size_t>(placed.info.shape.elements());
    std::fill_n(impl_->at(placed.value), elements * size_of(placed.info.dtype), std::byte{0});
  }
}

void Execution::backward(const std::function<void(std::size_t)>& ready) {
  MG_CHECK(program_->options().mode == Mode::training);
  if (RandomState* state = impl_->random_state(*program_)) *state = impl_->random;
  program_->backend().prepare_thread(threads_);
  for (const BoundPass::Group& group : impl_->backward.groups) {
    group.run();
    if (!ready) continue;
    for (const std::size_t parameter : group.ready) ready(parameter);
  }
}

void Execution::zero_gradients() {
  for (const std::string& name : program_->graph().parameters()) {
    const Program::PlacedValue& placed = find(*program_, name);
    if (placed.has_gradient) std::memset(impl_->at(placed.gradient), 0, static_cast<std::size_t>(placed.bytes));
  }
}

template <class T>
std::span<T> Execution::typed(const std::string& name, bool gradient) {
  const Program::PlacedValue& placed = find(*program_, name);
  MG_CHECK_MSG(placed.info.dtype == dtype_of<T> && !placed.layout, name);
  MG_CHECK_MSG(!gradient || placed.has_gradient, name);
  std::byte* bytes = impl_->at(gradient ? placed.gradient : placed.value);
  return {reinterpret_cast<T*>(bytes), static_cast<std::size_t>(placed.info.shape.elements())};
}
template std::span<float> Execution::typed<float>(const std::string&, bool);
template std::span<double> Execution::typed<double>(const std::string&, bool);
template std::span<std::int32_t> Execution::typed<std::int32_t>(const std::string&, bool);
template std::span<std::int64_t> Execution::typed<std::int64_t>(const std::string&, bool);
template std::span<std::uint8_t> Execution::typed<std::uint8_t>(const std::string&, bool);
template std::span<std::int8_t> Execution::typed<std::int8_t>(const std::string&, bool);
template std::span<bool> Execution::typed<bool>(const std::string&, bool);

namespace {

Status check_value(const std::string& what, const Program::PlacedValue& placed, const Tensor& value) {
  if (value.dtype() == placed.info.dtype && value.shape() == placed.info.shape) return {};
  return make_error(Code::invalid_argument, what + " is " + dtype_name(value.dtype()) + " " + to_string(value.shape()) +
                                                ", expected " + dtype_name(placed.info.dtype) + " " +
                                                to_string(placed.info.shape));
}

}  // namespace

Status Execution::set_input(const std::string& name, const Tensor& value) {
  const auto& inputs = program_->graph().inputs();
  if (std::none_of(inputs.begin(), inputs.end(), [&](const auto& input) { return input.first == name; })) {
    return make_error(Code::not_found, "graph '" + program_->graph().name() + "' has no input '" + name + "'");
  }
  const Program::PlacedValue& placed = find(*program_, name);
  MG_RETURN_IF_ERROR(check_value("input '" + name + "'", placed, value));
  std::memcpy(impl_->at(placed.value), value.data(), plain_bytes(placed));
  return {};
}

Tensor Execution::output_tensor(const std::string& name) {
  const Program::PlacedValue& placed = find(*program_, name);
  check_can_be_read(placed, name);
  Tensor tensor(placed.info.dtype, placed.info.shape);
  copy_laid_out(placed.to_plain.get(), impl_->at(placed.value), tensor.data(), plain_bytes(placed));
  return tensor;
}

std::vector<Execution::ParameterView> Execution::parameters() {
  std::vector<ParameterView> views;
  for (const std::string& name : program_->graph().parameters()) {
    const Program::PlacedValue& placed = find(*program_, name);
    MG_CHECK_MSG(placed.info.dtype == DType::f32, name);
    const std::size_t elements = static_cast<std::size_t>(placed.bytes) / sizeof(float);
    ParameterView view{.name = name, .value = {reinterpret_cast<float*>(impl_->at(placed.value)), elements}};
    if (placed.has_gradient) view.gradient = {reinterpret_cast<float*>(impl_->at(placed.gradient)), elements};
    views.push_back(std::move(view));
  }
  return views;
}

Tensor Execution::parameter(const std::string& name) {
  MG_CHECK_MSG(program_->graph().initializers().contains(name), name);
  return output_tensor(name);
}

Status Execution::set_parameter(const std::string& name, const Tensor& value) {
  const auto placed = program_->placed_values().find(name);
  if (placed == program_->placed_values().end() || !program_->graph().initializers().contains(name)) {
    return make_error(Code::not_found, "graph '" + program_->graph().name() + "' has no parameter '" + name + "'");
  }
  MG_RETURN_IF_ERROR(check_value("parameter '" + name + "'", placed->second, value));
  copy_laid_out(placed->second.from_plain.get(), value.data(), impl_->at(placed->second.value),
                plain_bytes(placed->second));
  return {};
}

Tensor Execution::gradient(const std::string& name) {
  const Program::PlacedValue& placed = find(*program_, name);
  MG_CHECK_MSG(placed.has_gradient, name);
  Tensor tensor(placed.info.dtype, placed.info.shape);
  copy_laid_out(placed.to_plain.get(), impl_->at(placed.gradient), tensor.data(), plain_bytes(placed));
  return tensor;
}

void Execution::to_plain(const std::string& name, std::span<const float> laid_out, std::span<float> plain) {
  const Program::PlacedValue& placed = find(*program_, name);
  check_can_be_read(placed, name);
  MG_CHECK_MSG(laid_out.size_bytes() == static_cast<std::size_t>(placed.bytes), name);
  MG_CHECK_MSG(plain.size_bytes() == plain_bytes(placed), name);
  copy_laid_out(placed.to_plain.get(), reinterpret_cast<const std::byte*>(laid_out.data()),
                reinterpret_cast<std::byte*>(plain.data()), plain.size_bytes());
}

void Execution::from_plain(const std::string& name, std::span<const float> plain, std::span<float> laid_out) {
  const Program::PlacedValue& placed = find(*program_, name);
  MG_CHECK_MSG(laid_out.size_bytes() == static_cast<std::size_t>(placed.bytes), name);
  MG_CHECK_MSG(plain.size_bytes() == plain_bytes(placed), name);
  copy_laid_out(placed.from_plain.get(), reinterpret_cast<const std::byte*>(plain.data()),
                reinterpret_cast<std::byte*>(laid_out.data()), plain.size_bytes());
}

namespace {

void append(std::vector<std::vector<Seconds>>& runs, const std::vector<Seconds>& run) {
  runs.resize(run.size());
  for (std::size_t i = 0; i < run.size(); ++i) runs[i].push_back(run[i]);
}

}  // namespace

std::vector<NodeTime> Execution::profile_forward(int repeats) {
  MG_CHECK(repeats >= 1);
  std::map<std::string, std::vector<Seconds>> times;  // by node, of each repeat
  for (int repeat = 0; repeat < repeats; ++repeat) {
    program_->backend().prepare_thread(threads_);
    const std::vector<Seconds> of_steps = impl_->forward.run_timed(timer(threads_));
    for (std::size_t i = 0; i < of_steps.size(); ++i) {
      auto& of_node = times[program_->forward_steps()[i].step.node];
      of_node.resize(static_cast<std::size_t>(repeat) + 1, 0);
      of_node.back() += of_steps[i];
    }
  }
  std::vector<NodeTime> medians;
  for (const Node& node : program_->graph().nodes()) medians.push_back({node.name, median(times[node.name])});
  return medians;
}

std::vector<StepTime> Execution::profile_steps(int repeats) {
  MG_CHECK(repeats >= 1);
  std::vector<std::vector<Seconds>> forward, backward;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    program_->backend().prepare_thread(threads_);
    append(forward, impl_->forward.run_timed(timer(threads_)));
    append(backward, impl_->backward.run_timed(timer(threads_)));
  }
  std::vector<StepTime> medians;
  const auto add = [&](const std::vector<Program::PlacedStep>& steps, std::vector<std::vector<Seconds>>& times) {
    for (std::size_t i = 0; i < steps.size(); ++i)
      medians.push_back({steps[i].step.name, steps[i].step.node, median(times[i])});
  };
  add(program_->forward_steps(), forward);
  add(program_->backward_steps(), backward);
  return medians;
}

}  // namespace mangrove
