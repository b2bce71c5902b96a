#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "mangrove/base/file.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/flag_ranges.h"
#include "mangrove/cli/reports/compress_report.h"
#include "mangrove/cli/reports/progress.h"
#include "mangrove/cli/sources/data_source.h"
#include "mangrove/cli/sources/model_source.h"
#include "mangrove/cli/sources/rewriting.h"
#include "mangrove/compress/coded_model.h"
#include "mangrove/compress/comparison.h"
#include "mangrove/compress/recipe.h"
#include "mangrove/data/dataset.h"
#include "mangrove/data/sha256.h"
#include "mangrove/data/subset.h"
#include "mangrove/engine/known_backends.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/job/json_fields.h"
#include "mangrove/learn/evaluate.h"
#include "mangrove/learn/preparation.h"

namespace mangrove::cli {
namespace {

constexpr std::int64_t kEvaluationBatch = 100;

struct CompressState {
  std::string model, recipe = std::string(compress::named_recipes().front().name);
  std::string output, exported;
  std::string data, data_dir, input_shape, backend;
  std::int64_t limit = 0, seed = 1, threads = 1;
  bool resume = false;
  Keys keys;
  Overrides overrides;

  std::string progress_file() const { return output + ".progress"; }
};

/// What is compressed, and with what.
struct CompressInput {
  Graph graph;
  compress::Recipe recipe;
  std::string data;
  std::shared_ptr<const data::Dataset> train, test;
  std::shared_ptr<const data::Augmentation> augmentation;
};

Status check_outputs(CompressState& state) {
  if (!is_model_file(state.model))
    return make_error(Code::invalid_argument,
                      "model '" + state.model +
                          "': compression needs trained weights; give a model file, such as the "
                          "model.onnx of a run folder");
  if (state.output.empty()) state.output = fs::path(state.model).replace_extension(compress::kCodedEnding).string();
  for (const auto& [flag, file] : {std::pair("--out ", &state.output), std::pair("--export ", &state.exported)}) {
    if (file->empty()) continue;
    std::error_code error;
    if (fs::equivalent(state.model, *file, error) || *file == state.model)
      return make_error(Code::invalid_argument, flag + *file + ": is the model itself, which would be lost");
    if (!is_model_file(*file))
      return make_error(Code::invalid_argument, flag + *file + ": expected a name that ends in .mgz or .onnx");
    const fs::path folder = fs::path(*file).parent_path();
    MG_RETURN_IF_ERROR(make_writable_folder(folder.empty() ? fs::path(".") : folder).context(flag + *file));
  }
  if (!state.exported.empty() && fs::path(state.exported).extension() != ".onnx")
    return make_error(Code::invalid_argument, "--export " + state.exported + ": expected a name that ends in .onnx");
  return {};
}

Result<CompressInput> open_input(const CompressState& state, std::stop_token stop) {
  MG_TRY(compress::Recipe recipe, compress::open_recipe(state.recipe));
  MG_TRY(Graph graph, load_model(state.model, state.input_shape));
  const std::string where = "model " + state.model;
  MG_RETURN_IF_ERROR(learn::check_single_exit(graph).context(where));
  MG_TRY(const std::string name, data_for(graph, state.data, state.data_dir, std::move(stop)));
  const fs::path folder = data::data_folder(state.data_dir);
  MG_TRY(auto train, data::open_dataset(name, data::Split::train, folder));
  MG_TRY(auto test, data::open_dataset(name, data::Split::test, folder));
  MG_RETURN_IF_ERROR(learn::check_fits(graph, *train).context(where));
  MG_TRY(auto augmentation, learn::preparation_of(graph, folder).context(where));
  return CompressInput{
      std::move(graph), std::move(recipe),      name, data::first_samples(std::move(train), state.limit),
      std::move(test),  std::move(augmentation)};
}

/// Shows each phase of the work as a bar of its own.
class PhaseProgress {
 public:
  explicit PhaseProgress(ProgressDisplay& display) : display_(display) {}
  void operator()(const std::string& phase, std::int64_t done, std::int64_t total) {
    if (phase != phase_) progress_.emplace(display_, phase, total, Loop::steps);
    phase_ = phase;
    (*progress_)(done);
  }

 private:
  ProgressDisplay& display_;
  std::string phase_;
  std::optional<LoopProgress> progress_;
};

/// What the work was begun with: going on with anything else would give another network.
Result<std::string> setting_of(const CompressState& state, const CompressInput& input) {
  MG_TRY(const std::string bytes, read_file(state.model));
  return fmt::format("model {}\ndata {}\nlimit {}\nseed {}\n{}", data::sha256(bytes), input.data, state.limit,
                     state.seed, input.recipe.text);
}

Result<compress::RecipeProgress> progress_to_begin_with(const CompressState& state, const CompressInput& input) {
  MG_TRY(std::string setting, setting_of(state, input));
  if (!state.resume) return compress::RecipeProgress{std::move(setting), 0, 0, {input.graph, {}}};
  const std::string file = state.progress_file();
  auto progress = compress::load_progress(file).context("--resume");
  if (progress.ok() && progress->setting != setting)
    return make_error(Code::invalid_argument, "--resume: " + file +
                                                  " is of another model, recipe, data, limit or seed; without --resume "
                                                  "the work begins anew");
  return progress;
}

Result<compress::Network> compress_network(const CompressState& state, const CompressInput& input,
                                           ProgressDisplay& display, std::stop_token stop) {
  MG_TRY(compress::RecipeProgress progress, progress_to_begin_with(state, input));
  compress::Workplace workplace{.train = input.train,
                                .augmentation = input.augmentation,
                                .load_teacher = [&](const std::string& teacher) -> Result<Graph> {
                                  if (teacher == "original") return input.graph;
                                  return load_model(teacher, "");
                                },
                                .backend = state.backend,
                                .threads = static_cast<int>(state.threads),
                                .seed = static_cast<std::uint64_t>(state.seed),
                                .stop = std::move(stop),
                                .progress = PhaseProgress(display)};
  const Status done = compress::run_recipe(input.recipe, progress, workplace, [&](const auto& reached) {
    return compress::save_progress(reached, state.progress_file());
  });
  if (done.ok()) return std::move(progress.network);
  std::error_code missing;
  if (done.code() == Code::cancelled && fs::exists(state.progress_file(), missing))
    return make_error(Code::cancelled, "stopped; what is done is in " + state.progress_file() +
                                           ": the same command with --resume goes on");
  return done.error();
}

Result<learn::ConfusionMatrix> confusion_of(const Graph& graph, const CompressState& state, const CompressInput& input,
                                            const LoopProgress& progress, std::stop_token stop) {
  MG_TRY(const Graph rewritten, rewritten_for_inference(graph, {}));
  learn::ReplicaOptions options;
  options.batch = kEvaluationBatch;
  options.mode = Mode::inference;
  options.backend = state.backend;
  options.threads = static_cast<int>(state.threads);
  MG_TRY(const auto replica, learn::Replica::create(rewritten, options));
  MG_TRY(learn::Evaluation evaluation,
         learn::evaluate(*replica, input.test, std::move(stop), input.augmentation, progress));
  return std::move(evaluation.confusion);
}

double recall(const learn::ConfusionMatrix& confusion, std::int32_t truth) {
  const std::int64_t all = confusion.samples_of(truth);
  return all == 0 ? 0 : static_cast<double>(confusion.count(truth, truth)) / static_cast<double>(all);
}

Status add_accuracy(CompressReport& report, const CompressState& state, const CompressInput& input, const Graph& after,
                    ProgressDisplay& display, const std::stop_token& stop) {
  const LoopProgress progress(display, "evaluate", input.test->size());
  MG_TRY(const auto first, confusion_of(input.graph, state, input, progress, stop));
  MG_TRY(const auto second, confusion_of(after, state, input, progress, stop));
  report.samples = input.test->size();
  report.accuracy = {first.accuracy(), second.accuracy()};
  for (std::int32_t truth = 0; truth < first.classes(); ++truth)
    report.classes.push_back(
        {input.test->class_names()[static_cast<std::size_t>(truth)], {recall(first, truth), recall(second, truth)}});
  return {};
}

/// Writes the network, and what its file came to.
Status write_outputs(CompressReport& report, const CompressState& state, const Graph& graph) {
  MG_TRY(const compress::CodedModel coded, compress::encode_model(graph));
  if (fs::path(state.output).extension() == compress::kCodedEnding)
    MG_RETURN_IF_ERROR(write_private_file(state.output, coded.bytes));
  else
    MG_RETURN_IF_ERROR(save_onnx(graph, state.output));
  if (!state.exported.empty()) MG_RETURN_IF_ERROR(save_onnx(graph, state.exported));
  report.bytes = {static_cast<Bytes>(fs::file_size(state.model)), static_cast<Bytes>(fs::file_size(state.output))};
  for (const compress::CodedParameter& parameter : coded.parameters) {
    const double kept =
        parameter.elements == 0 ? 1 : static_cast<double>(parameter.kept) / static_cast<double>(parameter.elements);
    report.parameters.push_back({parameter.name, parameter.elements, kept, parameter.values, parameter.bytes});
  }
  return {};
}

Result<CompressReport> compress_model(const CompressState& state, CommandContext& context) {
  MG_TRY(const CompressInput input, open_input(state, context.stop));
  ProgressDisplay display(shows_progress(context.output));
  MG_TRY(const compress::Network network, compress_network(state, input, display, context.stop));
  CompressReport report;
  report.model = state.model;
  report.data = input.data;
  report.recipe = state.recipe;
  report.output = state.output;
  report.exported = state.exported;
  report.parameters_before = input.graph.parameter_elements();
  report.parameters_after = network.graph.parameter_elements();
  MG_RETURN_IF_ERROR(write_outputs(report, state, network.graph));
  MG_RETURN_IF_ERROR(add_accuracy(report, state, input, network.graph, display, context.stop));
  display.finish();
  MG_TRY(const auto costs,
         compress::compare_answers(input.graph, network.graph, state.backend, static_cast<int>(state.threads)));
  report.memory = {costs.first.memory, costs.second.memory};
  report.seconds = {costs.first.seconds, costs.second.seconds};
  std::set<std::string_view> told;
  for (const compress::Recipe::Step& step : input.recipe.steps)
    if (told.insert(step.row->name).second) report.gains.emplace_back(step.row->gain);
  std::error_code gone;
  fs::remove(state.progress_file(), gone);
  return report;
}

Status run_compress(CompressState& state, CommandContext& context) {
  MG_RETURN_IF_ERROR(apply_overrides(state.overrides, state.keys));
  MG_RETURN_IF_ERROR(check_outputs(state));
  MG_TRY(const CompressReport report, compress_model(state, context));
  return print_result(nlohmann::json(job::json_of(report)), compress_text(report), context.output);
}

/// "NAME (SUMMARY); NAME (SUMMARY)"
template <class Rows>
std::string rows_help(const Rows& rows) {
  std::string help;
  for (const auto& row : rows) help += fmt::format("{}{} ({})", help.empty() ? "" : "; ", row.name, row.summary);
  return help;
}

std::string recipe_help() {
  return "a YAML file of steps, or the name of a recipe that comes with the program: " +
         rows_help(compress::named_recipes()) + ". Methods of steps: " + rows_help(compress::methods());
}

}  // namespace

void add_compress_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("compress", "make a trained network smaller: prune, share values, code");
  auto state = std::make_shared<CompressState>();
  command->add_option("model", state->model, "a model file: .onnx or .mgz")->required()->type_name("");
  command
      ->add_option("--out", state->output,
                   "the file to write: .mgz is coded, .onnx is standard ONNX; default: the model with .mgz")
      ->type_name("FILE")
      ->group("Output");
  command->add_option("--export", state->exported, "also write the network as standard ONNX, with equal answers")
      ->type_name("FILE.onnx")
      ->group("Output");
  command->add_flag("--resume", state->resume, "go on where the same command was stopped")->group("Compression");
  Keys& keys = state->keys;
  keys.begin_group("Compression");
  keys.add("recipe", state->recipe, recipe_help());
  keys.add("seed", state->seed, "of the order of samples", seed_range());
  keys.begin_group("Data");
  keys.add("data", state->data,
           "data set to train and test on, as for `train --data`; default: what the model was trained on");
  keys.add("data_dir", state->data_dir,
           "folder of the data sets; default: $MANGROVE_DATA, or else ~/.cache/mangrove/data");
  keys.add("limit", state->limit, "number of training samples; 0: all", limit_range());
  keys.begin_group("Model");
  keys.add("input_shape", state->input_shape, kInputShapeHelp);
  keys.begin_group("This process");
  keys.add("threads", state->threads, "threads for the kernels", kThreads);
  keys.add("backend", state->backend, backend_help());
  add_flags(*command, keys, state->overrides);
  add_output_flags(*command, context.output);
  command->footer(
      "Examples:\n"
      "  mangrove compress runs/mine/model.onnx --data mnist --out small.mgz\n"
      "  mangrove compress model.onnx --recipe recipe.yaml --export small.onnx\n"
      "  mangrove compress model.onnx --recipe smallest --resume --json\n"
      "A .mgz file is read wherever a model file is. docs/compression.md explains the\n"
      "methods and their keys.");
  command->callback(
      [&context, state] { context.action = [&context, state] { return run_compress(*state, context); }; });
}

}  // namespace mangrove::cli
