#include "mangrove/train/pipeline/stage.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "mangrove/base/check.h"
#include "mangrove/graph/batch_norm_geometry.h"
#include "mangrove/graph/multiply_adds.h"

namespace mangrove::train {

Result<std::unique_ptr<Stage>> Stage::create(const Graph& graph, std::size_t first, std::size_t last,
                                             const StageOptions& options, Recompute recompute,
                                             const learn::MemoryBudget& budget) {
  MG_TRY(const Graph whole_slice, graph.slice(first, last));
  const Graph slice = whole_slice.without_weights();
  MG_TRY(StageValues values, StageValues::of(graph, slice, first, last, options.micro_batch));
  std::unique_ptr<Stage> stage(new Stage(slice, first, last, options, std::move(values)));
  MG_TRY(std::shared_ptr<const Program> program, Program::compile(slice, {.mode = Mode::training,
                                                                          .batch = options.micro_batch,
                                                                          .backend = options.backend,
                                                                          .accumulate_gradients = true,
                                                                          .input_gradients = first > 0,
                                                                          .threads = options.threads}));
  stage->plan_memory(*program);
  MG_RETURN_IF_ERROR(stage->choose(recompute, learn::memory_left(budget)));  // compiling takes memory too
  MG_RETURN_IF_ERROR(stage->allocate(std::move(program)));
  return stage;
}

Stage::Stage(const Graph& slice, std::size_t first, std::size_t last, const StageOptions& options, StageValues values)
    : first_(first), last_(last), options_(options), values_(std::move(values)), states_(slice.states()) {
  forward_flops_ = 2.0 * static_cast<double>(multiply_adds(slice, options.micro_batch));
  for (const std::string& name : slice.parameters()) {
    sizes_.push_back(static_cast<std::size_t>(slice.value(name).shape.elements()));
    parameter_elements_ += sizes_.back();
  }
  for (const std::string& name : states_)
    state_elements_ += static_cast<std::size_t>(slice.value(name).shape.elements());
  for (const std::string& name : states_) {
    const auto reads = [&](const Node& node) { return std::ranges::count(node.inputs, name) > 0; };
    const auto found = std::ranges::find_if(slice.nodes(), reads);  // of batch normalization: nothing else has any
    momentums_.push_back(batch_norm_geometry(*found, slice.value(found->inputs[0]).shape).value().momentum);
  }
}

Stage::~Stage() = default;

void Stage::plan_memory(const Program& program) {
  const auto parameters = static_cast<Bytes>(parameter_elements_) * kFloatBytes;
  const auto received = static_cast<Bytes>(values_.received()) * kFloatBytes;
  const std::size_t slots = learn::find_optimizer(options_.optimizer.name).value()->slots;
  memory_ = {.parameters = program.memory().parameters,
             .activations = program.memory().arena,
             .kept = (options_.in_flight - 1) * program.memory().arena,
             .kept_activations = (options_.in_flight - 1) * program.memory().arena,
             .kept_inputs = options_.in_flight * received,
             .optimizer = static_cast<Bytes>(slots) * parameters,
             .stashed = (options_.stale_versions + (options_.stale_versions > 0 ? 1 : 0)) * parameters};
}

Status Stage::choose(Recompute recompute, Bytes budget) {
  recomputes_ = recompute == Recompute::always || (recompute == Recompute::where_needed && memory_.total() > budget &&
                                                   memory_.kept_inputs < memory_.kept);
  if (options_.in_flight == 1) recomputes_ = false;  // what is kept is still there
  if (recomputes_) memory_.kept = memory_.kept_inputs;
  if (memory_.total() <= budget) return {};
  return make_error(Code::resource_exhausted,
                    "the stage of operators " + std::to_string(first_) + " to " + std::to_string(last_ - 1) +
                        " needs " + format_bytes(memory_.total()) + " (parameters and gradients " +
                        format_bytes(memory_.parameters) + ", one micro-batch of " +
                        std::to_string(options_.micro_batch) + " samples " + format_bytes(memory_.activations) +
                        ", the others under way " + format_bytes(memory_.kept) + ", optimizer " +
                        format_bytes(memory_.optimizer) + ", older parameters " + format_bytes(memory_.stashed) +
                        "), and has " + format_bytes(std::max<Bytes>(0, budget)) +
                        (recomputes_ ? "" : " without recomputation") + "; use more stages or more micro_batches");
}

Status Stage::allocate(std::shared_ptr<const Program> program) {
  MG_TRY(auto execution, Execution::create(std::move(program), options_.threads));
  executions_.push_back(std::move(execution));
  while (!recomputes_ && static_cast<std::int64_t>(executions_.size()) < options_.in_flight) {
    MG_TRY(auto another, Execution::create_sharing(*executions_.front()));
    executions_.push_back(std::move(another));
  }
  views_ = executions_.front()->parameters();
  const std::vector<bool> spared = learn::spared_from_decay(executions_.front()->program().graph());
  std::vector<learn::Optimizer::Parameter> parameters;
  for (const auto& view : views_) parameters.push_back({view.value, view.gradient, spared[parameters.size()]});
  MG_TRY(learn::Optimizer optimizer, learn::Optimizer::create(options_.optimizer, std::move(parameters)));
  optimizer_ = std::move(optimizer);
  reset();
  return {};
}

void Stage::reset() {
  flights_.clear();
  stashed_.clear();
  in_place_.reset();
  free_.clear();
  for (std::size_t i = executions_.size(); i-- > 0;) free_.push_back(i);
  executions_.front()->zero_gradients();
}

Execution& Stage::run_forward(const Flight& flight, std::span<const float> received) {
  Execution& execution = *executions_[flight.place];
  values_.write_inputs(received, execution);
  execution.seed(flight.seed);
  execution.forward();
  return execution;
}

std::span<const float> Stage::forward(std::int64_t micro_batch, std::span<const float> received, std::uint64_t seed) {
  MG_CHECK(static_cast<std::int64_t>(flights_.size()) < options_.in_flight && received.size() == values_.received());
  Flight& flight = flights_[micro_batch];
  flight.seed = seed;
  flight.version = version_;
  if (recomputes_) {
    flight.received.assign(received.begin(), received.end());
    in_place_ = micro_batch;
  } else {
    flight.place = free_.back();
    free_.pop_back();
  }
  values_.read_outputs(received, run_forward(flight, received), sent_);
  return sent_;
}

/// An execution with the results of this micro-batch's forward pass. If the pass runs again for this, running
/// statistics do not change: it has counted once.
Execution& Stage::ready_for_backward(std::int64_t micro_batch, const Flight& flight) {
  if (!recomputes_ || in_place_ == micro_batch) return *executions_[flight.place];
  const std::vector<Tensor> running = read_running();
  in_place_ = micro_batch;
  Execution& execution = run_forward(flight, flight.received);
  write_running(running);
  return execution;
}

std::span<const float> Stage::backward(std::int64_t micro_batch, std::span<const float> gradient) {
  MG_CHECK(flights_.contains(micro_batch) && gradient.size() == values_.gradient_received());
  const Flight flight = std::move(flights_.extract(micro_batch).mapped());
  const bool is_stale = flight.version != version_;
  const Arrays current = is_stale ? parameters() : Arrays();
  if (is_stale) set_parameters(stashed_.at(flight.version));
  Execution& execution = ready_for_backward(micro_batch, flight);
  values_.write_gradients(gradient, execution);
  execution.backward();
  values_.read_gradients(gradient, execution, sent_back_);
  if (is_stale) set_parameters(current);
  if (!recomputes_) free_.push_back(flight.place);
  last_staleness_ = version_ - flight.version;
  std::erase_if(stashed_, [&](const auto& stash) {
    return std::none_of(flights_.begin(), flights_.end(),
                        [&](const auto& other) { return other.second.version == stash.first; });
  });
  return sent_back_;
}

/// What micro-batches under way were computed with is kept for them.
void Stage::update(float learning_rate, std::int64_t step) {
  const bool is_needed = std::any_of(flights_.begin(), flights_.end(),
                                     [&](const auto& flight) { return flight.second.version == version_; });
  if (is_needed) stashed_[version_] = parameters();
  optimizer_->step(learning_rate, step, options_.threads);
  executions_.front()->zero_gradients();
  ++version_;
}

Stage::Arrays Stage::parameters() {
  Arrays values;
  for (const auto& view : views_) values.emplace_back(view.value.begin(), view.value.end());
  return values;
}

void Stage::set_parameters(const Arrays& values) {
  for (std::size_t i = 0; i < views_.size(); ++i)
    std::copy(values[i].begin(), values[i].end(), views_[i].value.begin());
}

std::vector<Tensor> Stage::read_running() {
  std::vector<Tensor> running;
  for (const std::string& name : states_) running.push_back(executions_.front()->parameter(name));
  return running;
}

void Stage::write_running(const std::vector<Tensor>& running) {
  for (std::size_t i = 0; i < states_.size(); ++i)
    MG_CHECK_MSG(executions_.front()->set_parameter(states_[i], running[i]).ok(), states_[i]);
}

void Stage::scale_running(const std::function<float(std::size_t)>& factor) {
  std::vector<Tensor> running = read_running();
  for (std::size_t i = 0; i < running.size(); ++i)
    for (float& value : running[i].as<float>()) value *= factor(i);
  write_running(running);
}

void Stage::begin_share(bool keeps) {
  if (!keeps) scale_running([](std::size_t) { return 0.0f; });
}

void Stage::skip(std::int64_t micro_batches) {
  if (micro_batches == 0 || states_.empty()) return;
  scale_running([&](std::size_t i) { return std::pow(momentums_[i], static_cast<float>(micro_batches)); });
}

void Stage::read_sums(std::span<float> flat) {
  MG_CHECK(flat.size() == sum_elements());
  for (std::size_t i = 0; i < views_.size(); ++i) {
    executions_.front()->to_plain(views_[i].name, views_[i].gradient, flat.first(sizes_[i]));
    flat = flat.subspan(sizes_[i]);
  }
  copy_running(flat);
}

void Stage::write_sums(std::span<const float> flat) {
  MG_CHECK(flat.size() == sum_elements());
  for (std::size_t i = 0; i < views_.size(); ++i) {
    executions_.front()->from_plain(views_[i].name, flat.first(sizes_[i]), views_[i].gradient);
    flat = flat.subspan(sizes_[i]);
  }
  take_running(flat);
}

/// Running statistics at the beginning of the floats.
void Stage::copy_running(std::span<float> flat) {
  for (const Tensor& running : read_running()) {
    const auto elements = running.as<float>();
    std::copy(elements.begin(), elements.end(), flat.begin());
    flat = flat.subspan(elements.size());
  }
}

void Stage::take_running(std::span<const float> flat) {
  std::vector<Tensor> running = read_running();
  for (Tensor& state : running) {
    std::copy_n(flat.begin(), state.as<float>().size(), state.as<float>().begin());
    flat = flat.subspan(state.as<float>().size());
  }
  write_running(running);
}

std::size_t Stage::state_elements() const {
  return parameter_elements_ * (1 + optimizer_->slots()) + state_elements_;
}

void Stage::read_state(std::span<float> flat) {
  MG_CHECK(flat.size() == state_elements());
  const auto read = [&](std::size_t i, std::span<const float> laid_out) {
    executions_.front()->to_plain(views_[i].name, laid_out, flat.first(sizes_[i]));
    flat = flat.subspan(sizes_[i]);
  };
  for (std::size_t i = 0; i < views_.size(); ++i) read(i, views_[i].value);
  copy_running(flat);
  flat = flat.subspan(state_elements_);
  for (std::size_t slot = 0; slot < optimizer_->slots(); ++slot)
    for (std::size_t i = 0; i < views_.size(); ++i) read(i, optimizer_->slot(slot, i));
}

void Stage::write_state(std::span<const float> flat) {
  MG_CHECK(flat.size() == state_elements());
  reset();
  const auto write = [&](std::size_t i, std::span<float> laid_out) {
    executions_.front()->from_plain(views_[i].name, flat.first(sizes_[i]), laid_out);
    flat = flat.subspan(sizes_[i]);
  };
  for (std::size_t i = 0; i < views_.size(); ++i) write(i, views_[i].value);
  take_running(flat);
  flat = flat.subspan(state_elements_);
  for (std::size_t slot = 0; slot < optimizer_->slots(); ++slot)
    for (std::size_t i = 0; i < views_.size(); ++i) write(i, optimizer_->slot(slot, i));
}

}  // namespace mangrove::train
