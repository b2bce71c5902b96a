#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "mangrove/cli/command.h"
#include "mangrove/cli/model_source.h"
#include "mangrove/cli/rewriting.h"
#include "mangrove/plan/cost_model.h"
#include "mangrove/plan/measure.h"

namespace mangrove::cli {
namespace {

struct State {
  std::string model, output;
  plan::MeasureOptions options{.batch = 8};
  std::int64_t threads = 1;
  ModelSettings settings;
  Overrides overrides;

  Keys keys() {
    Keys keys;
    keys.add("batch", options.batch, "samples of a micro-batch", 1, 1'000'000);
    keys.add("train", options.training, "for training: the backward pass too");
    keys.add("threads", threads, "threads for the kernels", 1, 1024);
    keys.add("backend", options.backend, "kernels: onednn or portable; default: the fastest of this build");
    keys.add_seconds("seconds", options.seconds, "about how long to measure");
    settings.declare(keys);
    return keys;
  }
};

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

/// How far the cost model is off, summed over the operators, as a share of their time.
double model_error(const plan::Profile& profile) {
  const plan::CostModel model(profile);
  double off = 0, all = 0;
  for (const plan::OperatorProfile& one : profile.operators) {
    const plan::OperatorProfile predicted = model.predicted(one);
    off += std::abs(predicted.forward - one.forward) + std::abs(predicted.backward - one.backward);
    all += one.forward + one.backward;
  }
  return all > 0 ? off / all : 0;
}

Status run(State& state, const OutputOptions& output) {
  MG_RETURN_IF_ERROR(apply_overrides(state.overrides, state.keys()));
  if (state.output.empty()) return make_error(Code::invalid_argument, "no file: give --output FILE.yaml");
  MG_TRY(std::optional<Graph> graph, open_model(state.model, state.settings));
  if (!state.options.training) {
    MG_TRY(graph, rewritten_for_inference(*graph, {}));
  }
  state.options.threads = static_cast<int>(state.threads);
  MG_TRY(plan::Profile profile, plan::measure_profile(*graph, state.options, SteadyClock()));
  profile.device = host_name();
  MG_RETURN_IF_ERROR(write_file_atomically(state.output, plan::to_yaml(profile)));
  Seconds forward = 0, backward = 0;
  for (const plan::OperatorProfile& one : profile.operators) {
    forward += one.forward;
    backward += one.backward;
  }
  const double error = model_error(profile);
  const std::string backward_text = profile.training ? ", backward " + format_seconds(backward) : "";
  const std::string table =
      fmt::format("{}: {} operators, micro-batches of {}: forward {}{}; process {}; cost model within {:.0f} %\n{}\n",
                  profile.model, profile.operators.size(), profile.batch, format_seconds(forward), backward_text,
                  format_bytes(profile.process), 100 * error, state.output);
  return print_result({{"model", profile.model},
                       {"device", profile.device},
                       {"batch", profile.batch},
                       {"operators", profile.operators.size()},
                       {"forward_s", forward},
                       {"backward_s", backward},
                       {"process", profile.process},
                       {"cost_model_error", error},
                       {"output", state.output}},
                      table, output);
}

}  // namespace

void add_profile_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("profile", "measure what each operator of a network takes on this machine");
  auto state = std::make_shared<State>();
  command->add_option("model", state->model, "a model of the zoo (see `mangrove model list`), or an ONNX file")
      ->required()
      ->type_name("");
  command->add_option("-o,--output", state->output, "the profile to write, YAML")->type_name("");
  add_flags(*command, state->keys(), state->overrides);
  add_output_flags(*command, context.output);
  command->footer(
      "Examples:\n"
      "  mangrove profile resnet-20 --batch 8 --output pc.yaml\n"
      "  mangrove profile FILE.onnx --batch 1 --threads 4 --output pi.yaml\n"
      "  mangrove profile resnet-110 --batch 32 --train --output training.yaml\n"
      "`mangrove plan` reads the file; it can be edited (docs/planning.md).");
  command->callback([&context, state] { context.action = [&context, state] { return run(*state, context.output); }; });
}

}  // namespace mangrove::cli
