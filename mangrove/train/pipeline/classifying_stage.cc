#include "mangrove/train/pipeline/classifying_stage.h"

#include "mangrove/graph/multiply_adds.h"
#include "mangrove/learn/metrics.h"
#include "mangrove/learn/replica.h"

namespace mangrove::train {

Result<std::unique_ptr<ClassifyingStage>> ClassifyingStage::create(const Graph& graph, const StageRange& range,
                                                                   std::span<const float> state,
                                                                   const Options& options) {
  std::unique_ptr<ClassifyingStage> stage(new ClassifyingStage());
  MG_TRY(const Graph slice, graph.slice(range.first, range.last));
  MG_TRY(const StageSizes sizes, stage_sizes(graph, range));
  if (state.size() < sizes.parameters + sizes.states) {
    return make_error(Code::invalid_argument, "stage: a state of " + std::to_string(state.size()) +
                                                  " floats, expected at least " +
                                                  std::to_string(sizes.parameters + sizes.states));
  }
  MG_TRY(stage->values_, StageValues::of(graph, slice, range.first, range.last, options.micro_batch));
  stage->forward_flops_ = 2.0 * static_cast<double>(multiply_adds(slice, options.micro_batch));
  MG_TRY(const Graph with_parameters, learn::with_flat_parameters(slice, state.first(sizes.parameters)));
  MG_TRY(const Graph trained, learn::with_flat_states(with_parameters, state.subspan(sizes.parameters, sizes.states)));
  MG_TRY(auto program, Program::compile(trained, {.mode = Mode::inference,
                                                  .batch = options.micro_batch,
                                                  .backend = options.backend,
                                                  .threads = options.threads}));
  MG_TRY(stage->execution_, Execution::create(std::move(program), options.threads));
  return stage;
}

std::span<const float> ClassifyingStage::forward(std::span<const float> received) {
  values_.write_inputs(received, *execution_);
  execution_->forward();
  values_.read_outputs(received, *execution_, sent_);
  return sent_;
}

void add_classes(const MicroBatch& micro_batch, const PipelineIteration::Targets& targets,
                 std::span<const float> logits, const learn::Loss& loss, Answer& answer) {
  const auto rows = static_cast<std::size_t>(micro_batch.count);
  const std::size_t classes = logits.size() / targets.labels.size();
  const std::span<const float> real = logits.first(rows * classes);
  const std::span<const std::int32_t> labels = std::span(targets.labels).first(rows);
  const auto columns = static_cast<std::int32_t>(classes);
  const learn::BatchStats stats = loss.unsmoothed()(real, columns, {.labels = labels}, 1, {});
  const auto mini_batch = static_cast<int>(micro_batch.mini_batch);
  while (answer.losses_size() <= mini_batch) answer.add_losses(0);
  answer.set_losses(mini_batch, answer.losses(mini_batch) + stats.loss);
  for (const std::int32_t predicted : learn::argmax_rows(real, columns)) answer.add_predictions(predicted);
  for (const std::int32_t label : labels) answer.add_truths(label);
}

}  // namespace mangrove::train
