#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "mangrove/base/format.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/commands/model_verify.h"
#include "mangrove/cli/flag_ranges.h"
#include "mangrove/cli/reports/model_report.h"
#include "mangrove/cli/reports/training_report.h"
#include "mangrove/cli/sources/model_source.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/job/json_fields.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

struct ModelState {
  std::string model;
  ModelSettings settings;
  std::int64_t batch = 1;
  bool dot = false;
  bool train = false;
  Bytes memory = 0;
  std::string output;
  std::vector<std::string> files;
  std::string authority;
  Keys shape_keys, batch_keys;  // of export; of show
  Overrides overrides;
};

Status list_models(const OutputOptions& output) {
  json models = json::array(), families = json::array();
  std::string table;
  for (const zoo::ModelFamily& family : zoo::model_families()) {
    families.push_back({{"names", family.pattern}, {"summary", family.summary}, {"source", family.source}});
    table += fmt::format("{} ({}); names: {}\n", family.summary, family.source, family.pattern);
    for (const zoo::ModelEntry& entry : zoo::models()) {
      if (zoo::find_family(entry.name)->stem != family.stem) continue;
      models.push_back({{"name", entry.name},
                        {"family", family.stem},
                        {"sample_shape", entry.sample_shape.dims()},
                        {"classes", entry.classes},
                        {"parameters", entry.parameters},
                        {"multiply_adds", entry.multiply_adds}});
      table += fmt::format("  {:<20} {:>11} parameters  {:>14} multiply-adds for {}, {} classes\n", entry.name,
                           format_count(entry.parameters), format_count(entry.multiply_adds),
                           to_string(entry.sample_shape), format_count(entry.classes));
    }
  }
  return print_result({{"models", models}, {"families", families}}, table, output);
}

Status show_model(const ModelState& state, const OutputOptions& output) {
  MG_TRY(const Graph graph, open_model(state.model, state.settings));
  if (state.dot) return print_result(json{{"dot", to_dot(graph)}}, to_dot(graph), output);
  json report = model_report(graph, state.batch);
  std::string text = model_table(report);
  if (state.train) {
    MG_TRY(report["training"], training_report(graph, state.batch, state.memory));
    text += training_text(report["training"]);
  }
  return print_result(report, text, output);
}

Status export_model(const ModelState& state, const OutputOptions& output) {
  if (state.output.empty()) return make_error(Code::invalid_argument, "no file: give --output FILE.onnx");
  MG_TRY(const Graph graph, open_model(state.model, state.settings));
  MG_RETURN_IF_ERROR(save_onnx(graph, state.output));
  const json result = {{"model", graph.name()}, {"output", state.output}, {"parameters", graph.parameter_elements()}};
  return print_result(result, fmt::format("{}: {}\n", state.output, graph.name()), output);
}

Status verify(const ModelState& state, CommandContext& context) {
  MG_TRY(const std::vector<identity::Certificate> authorities, trusted_authorities(state.authority));
  json files = json::array();
  std::string table;
  for (const std::string& file : state.files) {
    const VerifiedModel verified = verify_model(file, authorities);
    if (!verified.is_verified) context.failed = true;
    files.push_back(json(job::json_of(verified)));
    table += verified.line();
  }
  return print_result({{"files", files}}, table, context.output);
}

/// A sub-command that reads its flags into the state and then runs `action`.
CLI::App* add_model_action(CLI::App& app, CommandContext& context, const std::shared_ptr<ModelState>& state,
                           const char* name, const char* help,
                           Status (*action)(const ModelState&, const OutputOptions&)) {
  auto* command = app.add_subcommand(name, help);
  command->add_option("model", state->model, "a model of the zoo (see `mangrove model list`), or an ONNX file")
      ->required()
      ->type_name("");
  command->callback([&context, state, action] {
    context.action = [&context, state, action]() -> Status {
      MG_RETURN_IF_ERROR(apply_overrides(state->overrides, state->batch_keys));
      return action(*state, context.output);
    };
  });
  return command;
}

void add_verify(CLI::App& app, CommandContext& context, const std::shared_ptr<ModelState>& state) {
  auto* command = app.add_subcommand("verify", "check who has signed a trained network, and for which job");
  command->add_option("file", state->files, "an ONNX file, with its signature in FILE.sig")
      ->required()
      ->type_name("FILE ...");
  command
      ->add_option("--authority", state->authority,
                   "a PEM file with the certificates of the authorities to trust; default: those of the clusters that "
                   "you are a member of")
      ->type_name("FILE")
      ->group("Model");
  add_output_flags(*command, context.output);
  command->footer(
      "Examples:\n"
      "  mangrove model verify runs/mine/model.onnx\n"
      "  mangrove model verify *.onnx --json\n"
      "  mangrove model verify model.onnx --authority greenhouse.pem\n"
      "It fails if one of the files is not what a coordinator has signed.");
  command->callback([&context, state] { context.action = [&context, state] { return verify(*state, context); }; });
}

}  // namespace

void add_model_command(CLI::App& app, CommandContext& context) {
  auto state = std::make_shared<ModelState>();
  for (Keys* keys : {&state->shape_keys, &state->batch_keys}) {
    keys->begin_group("Model");
    state->settings.declare(*keys);
  }
  state->batch_keys.add("batch", state->batch, "batch size for which shapes, work and memory are computed",
                        batch_range());
  state->batch_keys.add_bytes("memory", state->memory,
                              "with --train: memory limit of the process, e.g. 256MB; 0: what the system allows");
  auto* command = app.add_subcommand("model", "list, describe, export and verify networks");
  command->require_subcommand(1);
  auto* all = command->add_subcommand("list", "list the networks that Mangrove can build");
  add_output_flags(*all, context.output);
  all->callback([&context] { context.action = [&context] { return list_models(context.output); }; });
  auto* table =
      add_model_action(*command, context, state, "show",
                       "show the operators of a network with shapes, parameters, work and memory", &show_model);
  add_flags(*table, state->batch_keys, state->overrides);
  table->add_flag("--train", state->train, "also show how it would be trained at this batch within --memory")
      ->group("Model");
  table->add_flag("--dot", state->dot, "print the graph in the language of Graphviz instead")->group("Output");
  add_output_flags(*table, context.output);
  auto* file = add_model_action(*command, context, state, "export",
                                "write a network with its initial weights to an ONNX file", &export_model);
  add_flags(*file, state->shape_keys, state->overrides);
  file->add_option("--output", state->output, "the ONNX file to write")->type_name("FILE")->group("Output");
  add_output_flags(*file, context.output);
  add_verify(*command, context, state);
  all->footer("Examples:\n  mangrove model list\n  mangrove model list --json");
  table->footer(
      "Examples:\n"
      "  mangrove model show resnet-20\n"
      "  mangrove model show mobilenetv2-0.5 --sample-shape 3,96,96 --classes 10\n"
      "  mangrove model show resnet-110 --train --batch 128 --memory 256MB\n"
      "  mangrove model show FILE.onnx --dot | dot -Tsvg > model.svg");
  file->footer(
      "Examples:\n"
      "  mangrove model export wrn-16-4 --output wrn.onnx\n"
      "  mangrove model export lenet --classes 47 --output letters.onnx");
  command->footer(
      "Examples:\n"
      "  mangrove model list\n"
      "  mangrove model show resnet-20\n"
      "  mangrove model show mobilenetv2-0.5 --sample-shape 3,96,96 --classes 10\n"
      "  mangrove model show resnet-110 --train --batch 128 --memory 256MB\n"
      "  mangrove model show FILE.onnx --dot | dot -Tsvg > model.svg\n"
      "  mangrove model export wrn-16-4 --output wrn.onnx\n"
      "  mangrove model verify runs/mine/model.onnx");
}

}  // namespace mangrove::cli
