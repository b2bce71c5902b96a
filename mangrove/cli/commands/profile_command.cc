#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "mangrove/base/format.h"
#include "mangrove/base/host_name.h"
#include "mangrove/base/log.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/flag_ranges.h"
#include "mangrove/cli/reports/progress.h"
#include "mangrove/cli/sources/model_source.h"
#include "mangrove/cli/sources/rewriting.h"
#include "mangrove/data/dataset.h"
#include "mangrove/data/sha256.h"
#include "mangrove/engine/backend.h"
#include "mangrove/engine/known_backends.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/job/machine.h"
#include "mangrove/plan/cost_model.h"
#include "mangrove/plan/measure.h"
#include "mangrove/plan/profile_cache.h"

namespace mangrove::cli {
namespace {

struct ProfileState {
  std::string model, output, data_dir;
  bool fresh = false;
  plan::MeasureOptions options{.batch = 8};
  std::int64_t threads = 1;
  ModelSettings settings;
  Overrides overrides;

  Keys keys() {
    Keys keys;
    keys.begin_group("Model");
    settings.declare(keys);
    keys.begin_group("Measurement");
    keys.add("batch", options.batch, "samples in a micro-batch", batch_range());
    keys.add("train", options.training, "measure the backward pass too, for training");
    keys.add_seconds("seconds", options.seconds, "measure for about this long");
    keys.add("threads", threads, "threads for the kernels", kThreads);
    keys.add("backend", options.backend, backend_help());
    keys.begin_group("Kept profiles");
    keys.add("data_dir", data_dir,
             "folder of the data sets, in whose subfolder `profiles` a copy is kept; default: $MANGROVE_DATA, or else "
             "~/.cache/mangrove/data");
    keys.add("fresh", fresh, "measure again, even if a profile of this network on this device is kept");
    return keys;
  }
};

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

/// The one that is kept, else measured now and kept.
struct Found {
  plan::Profile profile;
  bool was_kept = false;
  fs::path kept;  // its file
};

Result<Found> find_profile(const ProfileState& state, const Graph& graph, const OutputOptions& output) {
  const plan::ProfileCache kept(data::data_folder(state.data_dir));
  const plan::MeasureOptions& options = state.options;
  const plan::ProfileKey key{.network = data::sha256(encode_onnx(graph)),
                             .device = job::Machine().description(),
                             .backend = options.backend.empty() ? backend_names().front() : options.backend,
                             .batch = options.batch,
                             .threads = options.threads,
                             .training = options.training};
  std::optional<plan::Profile> found = state.fresh ? std::nullopt : kept.find(key);
  if (found) return Found{std::move(*found), true, kept.path(key)};
  if (!output.quiet)
    std::fprintf(stderr, "measuring %s of %s\n",
                 format_things(static_cast<std::int64_t>(graph.nodes().size()), "operator").c_str(),
                 graph.name().c_str());
  std::optional<WaitDisplay> waiting(std::in_place, shows_progress(output), "measure", options.seconds);
  MG_TRY(plan::Profile profile, plan::measure_profile(graph, options, SteadyClock()));
  waiting.reset();
  profile.device = host_name();
  const Status done = kept.keep(key, profile);  // a full card is no reason not to measure
  if (!done.ok()) log_warn("the profile is not kept for the next time", {{"message", done.error().message}});
  return Found{std::move(profile), false, kept.path(key)};
}

Status run_profile(ProfileState& state, const OutputOptions& output) {
  MG_RETURN_IF_ERROR(apply_overrides(state.overrides, state.keys()));
  if (state.output.empty()) return make_error(Code::invalid_argument, "no file: give --output FILE.yaml");
  MG_TRY(std::optional<Graph> graph, open_model(state.model, state.settings));
  if (!state.options.training) {
    MG_TRY(graph, rewritten_for_inference(*graph, {}));
  }
  state.options.threads = static_cast<int>(state.threads);
  state.options.slowdown = job::Machine().slowdown(1);
  state.options.resident = [] { return job::Machine().resident_memory(); };
  MG_TRY(const Found found, find_profile(state, *graph, output));
  const plan::Profile& profile = found.profile;
  MG_RETURN_IF_ERROR(write_file_atomically(state.output, plan::to_yaml(profile)));
  Seconds forward = 0, backward = 0;
  for (const plan::OperatorProfile& one : profile.operators) {
    forward += one.forward;
    backward += one.backward;
  }
  const double error = model_error(profile);
  const std::string backward_text = profile.training ? ", backward " + format_seconds(backward) : "";
  const std::string kept_text =
      found.was_kept ? "measured before, and kept in " + found.kept.string() + "; --fresh measures anew\n" : "";
  const std::string table =
      fmt::format("{}: {}, micro-batches of {}: forward {}{}; process {}; cost model within {}\n{}{}\n", profile.model,
                  format_things(static_cast<std::int64_t>(profile.operators.size()), "operator"), profile.batch,
                  format_seconds(forward), backward_text, format_bytes(profile.process), format_percent(error, 0),
                  kept_text, state.output);
  return print_result({{"model", profile.model},
                       {"device", profile.device},
                       {"batch", profile.batch},
                       {"operators", profile.operators.size()},
                       {"forward_s", forward},
                       {"backward_s", backward},
                       {"process", profile.process},
                       {"cost_model_error", error},
                       {"was_kept", found.was_kept},
                       {"kept_in", found.kept.string()},
                       {"output", state.output}},
                      table, output);
}

}  // namespace

void add_profile_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("profile", "measure how long each operator of a network takes on this machine");
  auto state = std::make_shared<ProfileState>();
  command->add_option("model", state->model, "a network of the zoo (`mangrove model list` shows them) or an ONNX file")
      ->required()
      ->type_name("");
  command->add_option("-o,--output", state->output, "file to write the profile to (YAML)")
      ->type_name("FILE")
      ->group("Output");
  add_flags(*command, state->keys(), state->overrides);
  add_output_flags(*command, context.output);
  command->footer(
      "Examples:\n"
      "  mangrove profile resnet-20 --batch 8 --output pc.yaml\n"
      "  mangrove profile FILE.onnx --batch 1 --threads 4 --output pi.yaml\n"
      "  mangrove profile resnet-110 --batch 32 --train --output training.yaml\n"
      "  mangrove profile FILE.onnx --batch 8 --fresh --output pc.yaml\n"
      "`mangrove plan` reads the file, and you can edit it: see docs/planning.md. A\n"
      "copy is kept, so that this command and `mangrove infer` do not measure the same\n"
      "network on the same device again.");
  command->callback(
      [&context, state] { context.action = [&context, state] { return run_profile(*state, context.output); }; });
}

}  // namespace mangrove::cli
