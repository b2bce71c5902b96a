#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "mangrove/base/file.h"
#include "mangrove/base/format.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/flag_ranges.h"
#include "mangrove/cli/reports/progress.h"
#include "mangrove/cli/sources/data_source.h"
#include "mangrove/cli/sources/model_source.h"
#include "mangrove/cli/sources/rewriting.h"
#include "mangrove/data/dataset.h"
#include "mangrove/data/image.h"
#include "mangrove/engine/known_backends.h"
#include "mangrove/graph/exits.h"
#include "mangrove/graph/multiply_adds.h"
#include "mangrove/learn/preparation.h"
#include "mangrove/privacy/leakage.h"
#include "mangrove/privacy/trained_noise.h"
#include "mangrove/tensor/safetensors.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;
using privacy::Leakage;
using privacy::PrivacySetting;

constexpr std::size_t kDefaultCuts = 4;
constexpr std::int64_t kGridColumns = 8;

struct PrivacyState {
  std::string model, data, data_dir, input_shape, cuts, grid;
  std::string levels = "4", noise = "1", trained;
  double snr = 1;
  privacy::LeakageOptions options;
  std::int64_t threads = 1, seed = 1;
  Keys keys;
  Overrides overrides;
};

/// Of each cut, as it is and with each of the options.
Result<std::vector<privacy::PrivacySetting>> settings_of(const PrivacyState& state, const Graph& graph) {
  std::vector<std::string> layers = parse_names(state.cuts);
  for (const std::string& layer : layers) MG_RETURN_IF_ERROR(privacy::split_for_privacy(graph, layer).context("cuts"));
  if (layers.empty()) layers = privacy::split_nodes(graph, kDefaultCuts);
  if (layers.empty())
    return make_error(Code::invalid_argument, "graph '" + graph.name() + "' has no place where one value crosses");
  std::vector<privacy::PrivacySetting> settings;
  for (const std::string& layer : layers) {
    std::vector<std::string> texts = {"split@" + layer};
    for (const std::string& levels : parse_names(state.levels)) texts.push_back(texts[0] + ",levels=" + levels);
    for (const std::string& noise : parse_names(state.noise)) texts.push_back(texts[0] + ",noise=" + noise);
    if (!state.trained.empty()) texts.push_back(texts[0] + ",trained=" + state.trained);
    for (const std::string& text : texts) {
      MG_TRY(settings.emplace_back(), privacy::parse_privacy(text));
    }
  }
  return settings;
}

bool is_plain(const privacy::PrivacySetting& privacy) {
  return privacy.levels == 0 && privacy.noise == 0 && privacy.trained.empty();
}

privacy::NoiseOptions noise_options(const PrivacyState& state, const privacy::LeakageOptions& options) {
  return {.steps = options.steps,
          .batch = options.batch,
          .snr = state.snr,
          .backend = options.backend,
          .threads = options.threads,
          .seed = options.seed};
}

json setting_report(const privacy::PrivacySetting& privacy, const privacy::Leakage& leakage, double accuracy,
                    std::int64_t multiply_adds) {
  return {{"privacy", privacy::to_text(privacy)},
          {"layer", privacy.layer},
          {"levels", privacy.levels},
          {"noise", privacy.noise},
          {"trained", privacy.trained},
          {"snr", leakage.snr},
          {"ssim", leakage.likeness.ssim},
          {"psnr_db", leakage.likeness.psnr},
          {"accuracy", leakage.accuracy},
          {"accuracy_cost", accuracy - leakage.accuracy},
          {"bytes", leakage.bytes},
          {"bottom_multiply_adds", leakage.multiply_adds},
          {"bottom_share",
           multiply_adds > 0 ? static_cast<double>(leakage.multiply_adds) / static_cast<double>(multiply_adds) : 0},
          {"bottom_s", leakage.seconds}};
}

std::string leakage_table(const json& report) {
  const json& guess = report["guess"];
  std::string text = fmt::format("What can be seen of {} in what {} sends: decoders of {}, {} of {} each\n",
                                 report["data"].get<std::string>(), report["model"].get<std::string>(),
                                 format_things(report["steps"].get<std::int64_t>(), "step"),
                                 format_things(report["images"].get<std::int64_t>(), "held-out image"),
                                 format_bytes(report["image_bytes"].get<Bytes>()));
  std::size_t width = 28;
  for (const json& r : report["settings"]) width = std::max(width, r["privacy"].get_ref<const std::string&>().size());
  text += fmt::format("  {:<{}} {:>6} {:>9} {:>7} {:>10} {:>10} {:>8} {:>15} {:>11}\n", "privacy", width, "SSIM",
                      "PSNR", "SNR", "sent", "accuracy", "cost", "bottom", "bottom time");
  text += fmt::format("  {:<{}} {:>6.3f} {:>6.1f} dB\n", "(nothing sent: a mean image)", width,
                      guess["ssim"].get<double>(), guess["psnr_db"].get<double>());
  for (const json& r : report["settings"]) {
    const double snr = r["snr"].get<double>();
    text += fmt::format("  {:<{}} {:>6.3f} {:>6.1f} dB {:>7} {:>10} {:>8.2f} % {:>6.2f} % {:>7} M {:>3.0f} % {:>11}\n",
                        r["privacy"].get<std::string>(), width, r["ssim"].get<double>(), r["psnr_db"].get<double>(),
                        std::isfinite(snr) ? format_number(snr) : "-", format_bytes(r["bytes"].get<Bytes>()),
                        100 * r["accuracy"].get<double>(), 100 * r["accuracy_cost"].get<double>(),
                        format_number(1e-6 * r["bottom_multiply_adds"].get<double>()),
                        100 * r["bottom_share"].get<double>(), format_seconds(r["bottom_s"].get<double>()));
  }
  return text +
         "SSIM 1: the image is reconstructed. SNR: the values' mean square over the variance of what is changed in "
         "them. "
         "Bottom: multiply-adds of the layers on the trusted side, in millions, "
         "and their share of the network's.\n";
}

/// Images of one row each, as one.
data::Image grid_of(const std::vector<std::vector<std::vector<float>>>& rows, const Shape& shape) {
  const auto channels = static_cast<int>(shape[0]), height = static_cast<int>(shape[1]),
             width = static_cast<int>(shape[2]);
  data::Image grid{.width = width * static_cast<int>(rows[0].size()),
                   .height = height * static_cast<int>(rows.size()),
                   .channels = channels,
                   .pixels = {}};
  const auto line = static_cast<std::size_t>(width * channels);
  for (const auto& row : rows) {
    std::vector<data::Image> images;
    for (const std::vector<float>& planes : row) images.push_back(data::from_planar(planes, channels, height, width));
    for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y)
      for (const data::Image& image : images)
        grid.pixels.insert(grid.pixels.end(), image.pixels.begin() + static_cast<std::ptrdiff_t>(y * line),
                           image.pixels.begin() + static_cast<std::ptrdiff_t>((y + 1) * line));
  }
  return grid;
}

Result<privacy::LeakageData> open_data(const std::string& name, const Graph& graph, const fs::path& folder) {
  privacy::LeakageData data;
  MG_TRY(data.training, data::open_dataset(name, data::Split::train, folder));
  MG_TRY(data.held_out, data::open_dataset(name, data::Split::test, folder));
  MG_TRY(data.preparation, learn::preparation_of(graph, folder));
  const Shape shape = data.training->sample_shape();
  if (shape.rank() != 3)
    return make_error(Code::invalid_argument,
                      "data set '" + name + "' has samples " + to_string(shape) + ": images [C, H, W] are needed");
  return data;
}

/// Before hours of training, rather than after them.
Status check_outputs(const PrivacyState& state) {
  if (state.trained.find(',') != std::string::npos)
    return make_error(Code::invalid_argument,
                      "trained: a tier file could not name '" + state.trained + "': it has a comma");
  for (const auto& [key, file] : {std::pair("trained", &state.trained), std::pair("grid", &state.grid)}) {
    if (file->empty()) continue;
    const fs::path folder = fs::path(*file).parent_path();
    MG_RETURN_IF_ERROR(
        make_writable_folder(folder.empty() ? fs::path(".") : folder).context(std::string(key) + " " + *file));
  }
  return {};
}

/// All that is trained: a decoder for each setting, and tensors of noise for some.
std::int64_t training_steps(const std::vector<PrivacySetting>& settings, const privacy::NoiseOptions& noise) {
  std::int64_t steps = 0;
  for (const PrivacySetting& privacy : settings)
    steps += noise.steps * (privacy.trained.empty() ? 1 : 1 + noise.tensors);
  return steps;
}

Result<json> measure(PrivacyState& state, const OutputOptions& output, std::stop_token stop) {
  MG_RETURN_IF_ERROR(check_outputs(state));
  MG_TRY(const Graph loaded, load_model(state.model, state.input_shape));
  const Graph graph = has_early_exits(loaded) ? without_early_exits(loaded) : loaded;
  MG_TRY(const std::vector<privacy::PrivacySetting> settings, settings_of(state, graph));
  MG_TRY(const std::string name, data_for(graph, state.data, state.data_dir, stop));
  MG_TRY(const privacy::LeakageData data, open_data(name, graph, data::data_folder(state.data_dir)));
  const std::int64_t channels = data.training->sample_shape()[0];
  if (!state.grid.empty() && channels != 1 && channels != 3)
    return make_error(Code::invalid_argument,
                      "grid: a PNG file has 1 or 3 channels, the images have " + std::to_string(channels));
  privacy::LeakageOptions options = state.options;
  options.threads = static_cast<int>(state.threads);
  options.seed = static_cast<std::uint64_t>(state.seed);
  options.examples = state.grid.empty() ? 0 : std::min<std::int64_t>(kGridColumns, options.images);
  MG_TRY(std::vector<std::vector<float>> originals, privacy::held_out_examples(data, options));
  std::vector<std::vector<std::vector<float>>> rows = {std::move(originals)};
  const SteadyClock clock;
  json report = {{"model", state.model},
                 {"data", name},
                 {"steps", options.steps},
                 {"images", std::min<std::int64_t>(options.images, data.held_out->size())},
                 {"image_bytes", data.held_out->sample_shape().elements()},
                 {"multiply_adds", multiply_adds(graph, 1)},
                 {"settings", json::array()}};
  double accuracy = 0;  // with the cut's values as they are
  TensorFile noises;    // by layer
  const privacy::NoiseOptions noise = noise_options(state, options);
  ProgressDisplay display(shows_progress(output));
  const LoopProgress progress(display, "train", training_steps(settings, noise), Loop::steps);
  std::int64_t done = 0;  // of these steps
  const auto told = [&](std::int64_t steps) { progress(done + steps); };
  for (const privacy::PrivacySetting& privacy : settings) {
    Tensor trained;
    if (!privacy.trained.empty()) {
      MG_TRY(trained, privacy::train_noise(graph, privacy.layer, data, noise, stop, told));
      done += noise.steps * noise.tensors;
      noises.tensors.emplace(privacy.layer, trained);
      MG_RETURN_IF_ERROR(write_private_file(state.trained, encode_safetensors(noises)));
    }
    MG_TRY(privacy::Leakage leakage,
           privacy::measure_leakage(graph, privacy, data, options, clock, stop, trained.as<float>(), told));
    done += options.steps;
    if (is_plain(privacy)) accuracy = leakage.accuracy;
    report["settings"].push_back(setting_report(privacy, leakage, accuracy, multiply_adds(graph, 1)));
    rows.push_back(std::move(leakage.examples));
  }
  display.finish();
  MG_TRY(const privacy::Likeness guess, privacy::likeness_of_guess(data, options));
  report["guess"] = {{"ssim", guess.ssim}, {"psnr_db", guess.psnr}};
  if (!state.grid.empty()) {
    report["grid"] = state.grid;
    const data::Image grid = grid_of(rows, data.held_out->sample_shape());
    MG_RETURN_IF_ERROR(write_file_atomically(state.grid, data::encode_png(grid)));
  }
  return report;
}

Status run_privacy(PrivacyState& state, CommandContext& context) {
  MG_RETURN_IF_ERROR(apply_overrides(state.overrides, state.keys));
  MG_TRY(const json report, measure(state, context.output, context.stop).context("model " + state.model));
  return print_result(report, leakage_table(report), context.output);
}

}  // namespace

void add_privacy_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand(
      "privacy", "measure how well untrusted devices could reconstruct images, and what protection costs");
  auto state = std::make_shared<PrivacyState>();
  Keys& keys = state->keys;
  keys.begin_group("Model");
  keys.add("model", state->model, "a trained network (ONNX)");
  keys.add("input_shape", state->input_shape, kInputShapeHelp);
  keys.begin_group("Data");
  keys.add("data", state->data, "images like those that it was trained on, e.g. mnist; default: just those");
  keys.add("data_dir", state->data_dir,
           "folder of the data sets; default: $MANGROVE_DATA, or else ~/.cache/mangrove/data");
  keys.add("images", state->options.images, "number of test images to reconstruct and classify",
           at_least_one(limit_range()));
  keys.begin_group("Protection");
  keys.add("cuts", state->cuts,
           "operators behind which to split the network, with commas between; default: the first four places, from the "
           "first convolution or dense layer on, where a single value crosses");
  keys.add("levels", state->levels,
           "round values to so many levels; several numbers with commas between; empty: do not round");
  keys.add("noise", state->noise,
           "add Laplace noise of this scale, in standard deviations of an image's values; several numbers with commas "
           "between; empty: add none");
  keys.add("trained", state->trained,
           "train noise for each cut so that it costs little accuracy, and write it to this file, which tier files can "
           "name");
  keys.add("snr", state->snr, "signal-to-noise ratio of trained noise", 1e-3, 1e3);
  keys.begin_group("Attack");
  keys.add("steps", state->options.steps, "training steps of each decoder, and of each tensor of trained noise", 1,
           1'000'000);
  keys.add("seed", state->seed, "random seed of the decoders, the noise and the order of images", seed_range());
  keys.begin_group("This process");
  keys.add("threads", state->threads, "threads for the kernels", kThreads);
  keys.add("backend", state->options.backend, backend_help());
  keys.begin_group("Output");
  keys.add("grid", state->grid, "PNG file to write, with images and below them a row of reconstructions per setting");
  add_flags(*command, keys, state->overrides);
  command->get_option("--model")->required();
  add_output_flags(*command, context.output);
  command->footer(
      "Examples:\n"
      "  mangrove privacy --model runs/mine/model.onnx\n"
      "  mangrove privacy --model model.onnx --data mnist --cuts conv1,pool1,pool2 \\\n"
      "                   --levels 2,4,16 --noise 0.5,1,2\n"
      "  mangrove privacy --model model.onnx --data mnist --cuts pool2 \\\n"
      "                   --trained noise.safetensors --snr 0.5\n"
      "  mangrove privacy --model model.onnx --data cifar10 --steps 2000 \\\n"
      "                   --grid seen.png --json\n"
      "The key `privacy` of a tier file takes the same settings. docs/privacy.md says\n"
      "what they are worth.");
  command->callback([&context, state] { context.action = [&context, state] { return run_privacy(*state, context); }; });
}

}  // namespace mangrove::cli
