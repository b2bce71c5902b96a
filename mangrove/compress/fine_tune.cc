#include "mangrove/compress/fine_tune.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "mangrove/engine/optimize.h"
#include "mangrove/learn/trainer.h"

namespace mangrove::compress {
namespace {

/// The constraints on a replica's parameters, laid out as these are.
class Keeper {
 public:
  Keeper(learn::Replica& replica, const Constraints& constraints) : views_(replica.execution().parameters()) {
    numbers_.resize(views_.size());
    for (std::size_t i = 0; i < views_.size(); ++i) {
      const auto found = constraints.find(views_[i].name);
      if (found == constraints.end()) continue;
      const auto numbers = found->second.as<std::int32_t>();
      const std::vector<float> plain(numbers.begin(), numbers.end());
      numbers_[i].resize(views_[i].value.size());
      replica.execution().from_plain(views_[i].name, plain, numbers_[i]);
    }
  }

  void constrain_all_gradients() {
    for (std::size_t i = 0; i < views_.size(); ++i)
      if (!numbers_[i].empty()) constrain_gradients(numbers_[i], views_[i].gradient);
  }
  void constrain_all_weights() {
    for (std::size_t i = 0; i < views_.size(); ++i)
      if (!numbers_[i].empty()) constrain_weights(numbers_[i], views_[i].value);
  }

 private:
  std::vector<Execution::ParameterView> views_;
  std::vector<std::vector<float>> numbers_;  // parallel to views_; empty: the parameter is free
};

/// A network whose logits take the place of labels.
class Teacher {
 public:
  static Result<std::unique_ptr<Teacher>> create(const FineTuning& settings, const Workplace& workplace) {
    MG_TRY(const Graph network, workplace.load_teacher(settings.teacher).context("teacher"));
    MG_RETURN_IF_ERROR(learn::check_single_exit(network).context("teacher"));
    MG_RETURN_IF_ERROR(learn::check_fits(network, *workplace.train).context("teacher"));
    MG_TRY(const Optimized optimized, optimize(network, {.mode = Mode::inference}));
    const CompileOptions options{.batch = settings.batch, .backend = workplace.backend, .threads = workplace.threads};
    MG_TRY(auto program, Program::compile(optimized.graph, options));
    MG_TRY(auto execution, Execution::create(std::move(program), workplace.threads));
    return std::make_unique<Teacher>(std::move(execution), network.inputs()[0].first);
  }

  Teacher(std::unique_ptr<Execution> execution, std::string input)
      : execution_(std::move(execution)), input_(std::move(input)) {}

  std::span<const float> logits(const data::Batch& batch) {
    std::ranges::copy(batch.images.as<float>(), execution_->input<float>(input_).begin());
    execution_->forward();
    return execution_->output<float>(execution_->program().graph().outputs()[0]);
  }

 private:
  std::unique_ptr<Execution> execution_;
  std::string input_;
};

learn::Trainer::Options trainer_options(const FineTuning& settings, const Workplace& workplace, std::int64_t steps,
                                        std::uint64_t round) {
  learn::Trainer::Options options;
  options.replica.batch = settings.batch;
  options.replica.backend = workplace.backend;
  options.replica.threads = workplace.threads;
  if (!settings.teacher.empty())
    options.replica.loss = {.name = "distillation", .temperature = static_cast<float>(settings.temperature)};
  options.optimizer.name = settings.optimizer;
  options.optimizer.weight_decay = static_cast<float>(settings.weight_decay);
  options.learning_rate = static_cast<float>(settings.learning_rate);
  options.schedule.name = "cosine";
  options.total_steps = steps;
  options.seed = workplace.seed + round;
  options.augmentation = workplace.augmentation;
  return options;
}

}  // namespace

void FineTuning::declare(Keys& keys) {
  keys.add("epochs", epochs, "passes over the training samples in each round", 0, 100'000);
  keys.add("learning_rate", learning_rate, "at the start of each round; it falls to 0 along half a cosine", 0, 1e3);
  keys.add("weight_decay", weight_decay, "share of a weight that is taken off it, times the learning rate", 0, 1);
  keys.add("batch", batch, "samples in a step", 1, 1 << 20);
  keys.add("optimizer", optimizer, "as for `mangrove train --optimizer`");
  keys.add("teacher", teacher, "'original' or a model file, whose answers take the place of the labels");
  keys.add("temperature", temperature, "of the teacher's and the network's softmax", 1e-3, 1e3);
}

Result<Network> fine_tune(Network network, const FineTuning& settings, const Workplace& workplace,
                          std::uint64_t round) {
  const std::int64_t samples = workplace.train->size();
  const std::int64_t steps = settings.epochs * ((samples + settings.batch - 1) / settings.batch);
  if (steps == 0) return network;
  std::unique_ptr<Teacher> teacher;
  if (!settings.teacher.empty()) {
    MG_TRY(teacher, Teacher::create(settings, workplace));
  }
  MG_TRY(const auto trainer,
         learn::Trainer::create(network.graph, workplace.train, trainer_options(settings, workplace, steps, round)));
  Keeper keeper(trainer->replica(), network.constraints);
  trainer->on_update([&keeper] { keeper.constrain_all_gradients(); }, [&keeper] { keeper.constrain_all_weights(); });
  if (teacher != nullptr) trainer->set_targets([&teacher](const data::Batch& batch) { return teacher->logits(batch); });
  for (std::int64_t step = 0; step < steps; ++step) {
    if (workplace.stop.stop_requested()) return make_error(Code::cancelled, "stopped while training");
    MG_RETURN_IF_ERROR(trainer->step());
    if (workplace.progress)
      workplace.progress("train", std::min((step + 1) * settings.batch, settings.epochs * samples),
                         settings.epochs * samples);
  }
  network.graph = trainer->model();
  return network;
}

}  // namespace mangrove::compress
