#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/base/temporary_folder.h"
#include "tests/cli/process.h"

#include "mangrove/base/file.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove {
namespace {

using testing::Finished;
using testing::program;
using testing::run_program;
using testing::TemporaryFolder;

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

void write_truncated_model(const fs::path& path) {
  const auto graph = zoo::build_model("mlp", {});
  ASSERT_TRUE(graph.ok());
  const std::string whole = encode_onnx(*graph);
  std::ofstream(path, std::ios::binary) << whole.substr(0, whole.size() / 2);
}

/// As what `mangrove quantize` writes: nothing in it can be trained.
void write_model_without_parameters(const fs::path& path) {
  GraphParts parts;
  parts.name = "fixed";
  parts.inputs = {{"input", {DType::f32, {kBatch, 1, 28, 28}}}};
  parts.outputs = {"logits"};
  parts.nodes = {{"flatten", "Flatten", {}, {"input"}, {"flat"}},
                 {"first", "Slice", {}, {"flat", "from", "to", "axis"}, {"logits"}}};
  parts.initializers = {{"from", Tensor::of<std::int64_t>({1}, {0})},
                        {"to", Tensor::of<std::int64_t>({1}, {10})},
                        {"axis", Tensor::of<std::int64_t>({1}, {1})}};
  ASSERT_TRUE(save_onnx(Graph::create(std::move(parts)).value(), path).ok());
}

/// Headers that promise two images, with less than one behind.
void write_truncated_mnist(const fs::path& folder) {
  using namespace std::string_literals;
  const std::string images = "\0\0\x08\x03\0\0\0\x02\0\0\0\x1c\0\0\0\x1c"s + std::string(700, 'x');
  const std::string labels = "\0\0\x08\x01\0\0\0\x02\x03"s;
  fs::create_directories(folder);
  for (const std::string split : {"train", "t10k"}) {
    std::ofstream(folder / (split + "-images-idx3-ubyte"), std::ios::binary) << images;
    std::ofstream(folder / (split + "-labels-idx1-ubyte"), std::ios::binary) << labels;
  }
}

void write_images_without_test_split(const fs::path& folder) {
  for (const char* name : {"a", "b"}) {
    fs::create_directories(folder / "train" / name);
    for (int i = 0; i < 10; ++i)
      std::ofstream(folder / "train" / name / (std::to_string(i) + ".ppm"), std::ios::binary)
          << "P6 28 28 255\n"
          << std::string(28 * 28 * 3, static_cast<char>(i));
  }
}

struct CommandLineUsage {
  const char* name;
  std::vector<std::string> arguments;
  int status;
  const char* says;  // in the one line on standard error
};

class BadUsage : public ::testing::TestWithParam<CommandLineUsage> {};

TEST_P(BadUsage, GivesOneLineAndTheRightStatus) {
  const TemporaryFolder folder;
  std::vector<std::string> arguments = {program()};
  for (std::string argument : GetParam().arguments) {
    if (const auto at = argument.find("$T"); at != std::string::npos) argument.replace(at, 2, folder.path());
    arguments.push_back(argument);
  }
  std::ofstream(folder / "garbage.onnx") << "this is not a model";
  std::ofstream(folder / "file") << "a file, not a folder";
  fs::create_directories(folder / "data/mnist");
  for (const char* name :
       {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"})
    std::ofstream(folder / (std::string("data/mnist/") + name)) << "not IDX at all";
  std::ofstream(folder / "job.yaml") << "train:\n  epoks: 1\n";
  std::ofstream(folder / "foreign.yaml") << "train:\n  strategy: gossip\n  topology: tree\n";
  std::ofstream(folder / "sections.yaml") << "stages: 2\ntrain:\n  data: glyphs\ninfer:\n  data: glyphs\n";
  std::ofstream(folder / "tiers.yaml") << "end: {count: 1, model: mlp-32}\ncloud: {model: lenett}\n";
  std::ofstream(folder / "resume.yaml") << "train:\n  resume: somewhere\n";
  write_images_without_test_split(folder / "images");
  write_truncated_model(folder / "truncated.onnx");
  write_model_without_parameters(folder / "fixed.onnx");
  write_truncated_mnist(folder / "truncated/mnist");
  const Finished run = run_program(arguments, 60, {"HOME=" + folder.path().string()});
  EXPECT_EQ(run.status, GetParam().status) << run.err;
  EXPECT_NE(run.err.find(GetParam().says), std::string::npos) << run.err;
  EXPECT_EQ(lines(run.err), 1u) << run.err;
  EXPECT_EQ(run.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    CommandLine, BadUsage,
    ::testing::Values(
        CommandLineUsage{"no_command", {}, 2, "subcommand is required"},
        CommandLineUsage{"unknown_command", {"trian"}, 2, "unknown command 'trian'; did you mean 'train'?"},
        CommandLineUsage{"unknown_flag",
                         {"train", "--modle", "lenet"},
                         2,
                         "unknown option --modle; did you mean '--model'?; see `mangrove train --help`"},
        CommandLineUsage{
            "unknown_flag_below", {"data", "info", "--jsno"}, 2, "did you mean '--json'?; see `mangrove data info"},
        CommandLineUsage{"unknown_command_below", {"data", "inof"}, 2, "unknown command 'inof'; did you mean 'info'?"},
        CommandLineUsage{
            "flag_twice", {"train", "--epochs", "1", "--epochs=2"}, 2, "--epochs is given twice; it takes one value"},
        CommandLineUsage{"flag_without_value", {"train", "--epochs"}, 2, "--epochs needs a value"},
        CommandLineUsage{
            "extra_argument", {"train", "lenet"}, 2, "unexpected argument 'lenet'; see `mangrove train --help`"},
        CommandLineUsage{"help_of_nothing", {"help", "trian"}, 2, "unknown command 'trian'; did you mean 'train'?"},
        CommandLineUsage{"unknown_shell", {"completion", "bahs"}, 2, "did you mean 'bash'?"},
        CommandLineUsage{"wrong_folder", {"train", "--data", "folder:/nope", "--run-dir", "$T/r"}, 2, "/nope"},
        CommandLineUsage{"fetch_of_nothing", {"data", "fetch", "mnits"}, 2, "did you mean 'mnist'"},
        CommandLineUsage{"bad_value", {"train", "--epochs", "many"}, 2, "--epochs: 'many' is not a whole number"},
        CommandLineUsage{"zero_nodes", {"train", "--local", "0"}, 2, "--local: '0' is not a whole number from 1"},
        CommandLineUsage{"unknown_model",
                         {"train", "--model", "lenett", "--data", "glyphs", "--run-dir", "$T/r"},
                         2,
                         "did you mean 'lenet'"},
        CommandLineUsage{
            "unknown_model_before_a_download",
            {"train", "--model", "lenett", "--data", "mnist", "--data-dir", "$T/none", "--run-dir", "$T/r"},
            2,
            "did you mean 'lenet'"},
        CommandLineUsage{
            "nothing_to_train_before_a_download",
            {"train", "--model", "$T/fixed.onnx", "--data", "mnist", "--data-dir", "$T/none", "--run-dir", "$T/r"},
            2,
            "/fixed.onnx: graph 'fixed' has no parameters that could be trained"},
        CommandLineUsage{"bad_job_before_a_download",
                         {"train", "--batch", "8", "--micro-batch", "16", "--data", "mnist", "--data-dir", "$T/none",
                          "--run-dir", "$T/r"},
                         2,
                         "micro_batch: must be at most the batch, 8, got 16"},
        CommandLineUsage{"unknown_frozen_node_before_a_download",
                         {"train", "--init-from", "mobilenetv2-0.25", "--freeze", "head.flaten", "--data", "mnist",
                          "--data-dir", "$T/none", "--run-dir", "$T/r"},
                         2,
                         "freeze: graph 'mobilenetv2-0.25' has no node 'head.flaten'; did you mean 'head.flatten'?"},
        CommandLineUsage{
            "no_place_for_a_new_head_before_a_download",
            {"train", "--init-from", "$T/fixed.onnx", "--data", "mnist", "--data-dir", "$T/none", "--run-dir", "$T/r"},
            2,
            "init_from: graph 'fixed': it has no global average pooling"},
        CommandLineUsage{
            "missing_onnx_before_a_download",
            {"infer", "--model", "$T/none.onnx", "--data", "mnist", "--data-dir", "$T/none", "--run-dir", "$T/r"},
            2,
            "none.onnx"},
        CommandLineUsage{
            "unknown_model_of_a_tier_before_a_download",
            {"infer", "--tiers", "$T/tiers.yaml", "--data", "mnist", "--data-dir", "$T/none", "--run-dir", "$T/r"},
            2,
            "tier 'cloud': no model is called 'lenett'; did you mean 'lenet'?"},
        CommandLineUsage{"thresholds_of_nothing_before_a_download",
                         {"eval", "--model", "$T/fixed.onnx", "--exit-thresholds", "0.5", "--data", "mnist",
                          "--data-dir", "$T/none"},
                         2,
                         "/fixed.onnx"},
        CommandLineUsage{
            "no_coordinator_before_a_download",
            {"train", "--data", "mnist", "--data-dir", "$T/none", "--coordinator", "127.0.0.1:1", "--run-dir", "$T/r"},
            1,
            "127.0.0.1:1: no coordinator answers"},
        CommandLineUsage{"unknown_data", {"train", "--data", "mnits", "--run-dir", "$T/r"}, 2, "did you mean 'mnist'"},
        CommandLineUsage{"unknown_strategy",
                         {"train", "--data", "glyphs", "--strategy", "gosip", "--run-dir", "$T/r"},
                         2,
                         "unknown strategy 'gosip'; did you mean 'gossip'"},
        CommandLineUsage{
            "flag_of_another_strategy",
            {"train", "--data", "glyphs", "--strategy", "all_reduce", "--consistency", "async", "--run-dir", "$T/r"},
            2,
            "--consistency: strategy 'all_reduce' has no such key; it belongs to parameter_server and federated"},
        CommandLineUsage{"flag_of_another_strategy_of_infer",
                         {"infer", "--data", "glyphs", "--model", "m.onnx", "--strategy", "single", "--stages", "2"},
                         2,
                         "--stages: strategy 'single' has no such key; it belongs to pipeline"},
        CommandLineUsage{"tier_file_of_another_strategy",
                         {"infer", "--tiers", "tiers.yaml", "--data", "glyphs", "--strategy", "single"},
                         2,
                         "--tiers: strategy 'single' has no such key; it belongs to tiers"},
        CommandLineUsage{"key_of_another_strategy",
                         {"run", "$T/foreign.yaml"},
                         2,
                         "foreign.yaml:3: key 'topology': strategy 'gossip' has no such key; it belongs to all_reduce"},
        CommandLineUsage{"flag_of_a_strategy_that_no_section_has",
                         {"run", "$T/sections.yaml", "--window", "3", "--topology", "tree"},
                         2,
                         "--topology: strategy 'parameter_server' has no such key; it belongs to all_reduce"},
        CommandLineUsage{"key_of_another_strategy_of_sim",
                         {"sim", testing::repository_path("examples/worlds/boards.yaml"), "$T/foreign.yaml",
                          "--strategy", "federated"},
                         2,
                         "foreign.yaml:3: key 'topology': strategy 'federated' has no such key"},
        CommandLineUsage{"unknown_schedule",
                         {"train", "--data", "glyphs", "--schedule", "cosin", "--run-dir", "$T/r"},
                         2,
                         "did you mean 'cosine'"},
        CommandLineUsage{
            "two_clusters",
            {"train", "--data", "glyphs", "--local", "2", "--coordinator", "127.0.0.1:1", "--run-dir", "$T/r"},
            2,
            "give --local or --coordinator, not both"},
        CommandLineUsage{"two_clusters_of_infer",
                         {"infer", "--data", "glyphs", "--local", "2", "--testbed", "boards.yaml", "--run-dir", "$T/r"},
                         2,
                         "give --local or --testbed, not both"},
        CommandLineUsage{"nothing_to_train",
                         {"train", "--model", "$T/fixed.onnx", "--data", "glyphs", "--run-dir", "$T/r"},
                         2,
                         "/fixed.onnx: graph 'fixed' has no parameters that could be trained"},
        CommandLineUsage{"data_of_another_shape",
                         {"train", "--model", "$T/fixed.onnx", "--data", "leaves", "--run-dir", "$T/r"},
                         2,
                         "/fixed.onnx"},
        CommandLineUsage{
            "no_test_split",
            {"train", "--data", "folder:$T/images,size=28,channels=1", "--local", "3", "--run-dir", "$T/r"},
            2,
            "has no test split; carve one from its training samples"},
        CommandLineUsage{"run_dir_is_a_file", {"train", "--data", "glyphs", "--run-dir", "$T/file"}, 1, "run folder"},
        CommandLineUsage{
            "corrupt_idx", {"train", "--data", "mnist", "--data-dir", "$T/data", "--run-dir", "$T/r"}, 1, "ubyte"},
        CommandLineUsage{"corrupt_onnx", {"eval", "--model", "$T/garbage.onnx", "--data", "glyphs"}, 1, "garbage.onnx"},
        CommandLineUsage{"missing_onnx",
                         {"infer", "--model", "$T/none.onnx", "--data", "glyphs", "--run-dir", "$T/r"},
                         2,
                         "none.onnx"},
        CommandLineUsage{"missing_tier_file",
                         {"infer", "--tiers", "$T/none.yaml", "--data", "glyphs", "--run-dir", "$T/r"},
                         2,
                         "none.yaml"},
        CommandLineUsage{"no_tier_file",
                         {"infer", "--strategy", "tiers", "--data", "glyphs", "--run-dir", "$T/r"},
                         2,
                         "strategy 'tiers' needs --tiers FILE"},
        CommandLineUsage{"unknown_scheduler",
                         {"infer", "--tiers", testing::repository_path("tests/data/tiers.yaml"), "--data", "glyphs",
                          "--scheduler", "end-claud", "--run-dir", "$T/r"},
                         2,
                         "unknown scheduler 'end-claud'; did you mean 'end-cloud'?"},
        CommandLineUsage{"bench_of_no_time", {"bench", "--seconds", "0"}, 2, "--seconds: '0' is not"},
        CommandLineUsage{"bench_of_an_unknown_backend",
                         {"bench", "--backend", "onedn", "--output", "$T/b.json"},
                         2,
                         "unknown backend 'onedn'; did you mean 'onednn'?"},
        CommandLineUsage{"switch_to_unknown_scheduler",
                         {"switch", "--scheduler", "nothing"},
                         2,
                         "unknown scheduler 'nothing'; known: end, end-cloud, "},
        CommandLineUsage{"switch_to_no_scheduler", {"switch"}, 2, "--scheduler"},
        CommandLineUsage{
            "truncated_onnx", {"eval", "--model", "$T/truncated.onnx", "--data", "glyphs"}, 1, "truncated.onnx"},
        CommandLineUsage{"truncated_idx",
                         {"train", "--data", "mnist", "--data-dir", "$T/truncated", "--run-dir", "$T/r"},
                         1,
                         "train-images-idx3-ubyte"},
        CommandLineUsage{
            "unknown_job_key", {"run", "$T/job.yaml"}, 2, "job.yaml:2: unknown key 'epoks'; did you mean 'epochs'?"},
        CommandLineUsage{"unwritable_run_dir",
                         {"train", "--data", "glyphs", "--run-dir", "/sys/mangrove-run"},
                         1,
                         "run folder: /sys/mangrove-run"},
        CommandLineUsage{
            "resume_of_run", {"run", "$T/resume.yaml"}, 2, "'resume' is for `mangrove train --resume RUN_DIR`"},
        CommandLineUsage{"not_utf8", {"eval", "--data", "glyphs", "--model", "$T/\xff.onnx"}, 2, ".onnx"},
        CommandLineUsage{"no_model", {"eval", "--data", "glyphs"}, 2, "--model FILE.onnx"},
        CommandLineUsage{"unknown_pass",
                         {"eval", "--data", "glyphs", "--model", "/none.onnx", "--disable-pass", "fuse,fold_batchnorm"},
                         2,
                         "did you mean 'fold_batch_norm'?"},
        CommandLineUsage{"missing_job_file", {"run", "$T/none.yaml"}, 2, "none.yaml"},
        CommandLineUsage{"nothing_to_resume", {"train", "--resume", "$T/none"}, 2, "resume"},
        CommandLineUsage{"no_coordinator_for_train",
                         {"train", "--data", "glyphs", "--coordinator", "127.0.0.1:1", "--run-dir", "$T/r"},
                         1,
                         "127.0.0.1:1"},
        CommandLineUsage{"no_coordinator_for_node",
                         {"node", "--coordinator", "127.0.0.1:1", "--join-timeout", "1s"},
                         1,
                         "127.0.0.1:1"},
        CommandLineUsage{"no_coordinator_for_nodes", {"nodes", "--coordinator", "127.0.0.1:1"}, 1, "127.0.0.1:1"},
        CommandLineUsage{"bad_listen", {"coordinator", "--listen", "nonsense", "--state", "none"}, 2, "nonsense"}),
    [](const auto& param) { return std::string(param.param.name); });

TEST(CommandLine, HelpOfEveryCommandShowsExamples) {
  for (const char* command : {"run", "train", "eval", "infer", "coordinator", "node", "nodes", "jobs", "job", "switch",
                              "top", "report", "data", "model", "predict"}) {
    const Finished run = run_program({program(), command, "--help"});
    EXPECT_EQ(run.status, 0) << command;
    EXPECT_NE(run.out.find("Examples:\n  mangrove " + std::string(command)), std::string::npos) << run.out;
  }
}

TEST(CommandLine, HelpOfCommandsBelowShowsTheirOwnExamples) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {{{"testbed", "up"}, "testbed up"},
                                                                    {{"testbed", "down"}, "testbed down"},
                                                                    {{"testbed", "status"}, "testbed status"},
                                                                    {{"testbed", "cut"}, "testbed cut"},
                                                                    {{"data", "list"}, "data list"},
                                                                    {{"data", "info"}, "data info"},
                                                                    {{"data", "fetch"}, "data fetch"},
                                                                    {{"data", "make"}, "data make images"},
                                                                    {{"data", "pack"}, "data pack"},
                                                                    {{"data", "register"}, "data register"},
                                                                    {{"data", "unregister"}, "data unregister"},
                                                                    {{"data", "make", "images"}, "data make images"},
                                                                    {{"model", "list"}, "model list"},
                                                                    {{"data", "make", "sensors"}, "data make sensors"},
                                                                    {{"model", "show"}, "model show"},
                                                                    {{"model", "export"}, "model export"}};
  for (const auto& [words, example] : cases) {
    std::vector<std::string> arguments = {program(), "help"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    const Finished run = run_program(arguments);
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_NE(run.out.find("Examples:\n  mangrove " + example), std::string::npos) << run.out;
    EXPECT_EQ(run.out.find("mangrove train --model lenet"), std::string::npos) << "the top level's\n" << run.out;
  }
  EXPECT_NE(run_program({program(), "help"}).out.find("config.yaml"), std::string::npos);
}

TEST(CommandLine, AReaderThatHasSeenEnoughIsNoError) {
  const Finished run =
      run_program({"/bin/sh", "-c", "(" + program() + " model list; echo status $? >&2) | head -n 1 >/dev/null"});
  EXPECT_EQ(run.err, "status 0\n");
}

TEST(CommandLine, TerminalsObeyNothingInMessages) {
  const Finished run = run_program({program(), "train", "--data", "folder:\x1b[2J\x07nothing", "--local", "1"});
  EXPECT_NE(run.status, 0);
  EXPECT_NE(run.err.find("\\x1b[2J\\x07nothing"), std::string::npos) << run.err;
  EXPECT_EQ(run.err.find_first_of("\x1b\x07"), std::string::npos) << run.err;
}

TEST(CommandLine, TerminalsObeyNothingInTables) {
  const testing::TemporaryFolder folder;
  ASSERT_TRUE(run_program({program(), "data", "make", "images", "--to", folder / "digits", "--limit", "40"}).status ==
              0);
  fs::rename(folder / "digits/train/0", folder / "digits/train/\x1b[2J");
  fs::rename(folder / "digits/test/0", folder / "digits/test/\x1b[2J");
  const Finished run = run_program({program(), "data", "info", "folder:" + (folder / "digits").string()});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_NE(run.out.find("\\x1b[2J"), std::string::npos) << run.out;
  EXPECT_EQ(run.out.find('\x1b'), std::string::npos);
}

TEST(CommandLine, PortInUseIsNamed) {
  testing::Process first({program(), "coordinator", "--listen", "127.0.0.1:0", "--state", "none"});
  ASSERT_TRUE(first.wait_until([&] { return first.out().find('\n') != std::string::npos; }, 20)) << first.err();
  const std::string address =
      first.out().substr(first.out().rfind(' ') + 1, first.out().find('\n') - first.out().rfind(' ') - 1);
  const Finished second = run_program({program(), "coordinator", "--listen", address, "--state", "none"});
  EXPECT_EQ(second.status, 1);
  EXPECT_NE(second.err.find(address), std::string::npos) << second.err;
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(20), 0) << first.err();
}

TEST(CommandLine, FailureWithJsonIsOneObjectToo) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"eval", "--model", "/none.onnx", "--data", "glyphs"}, "not_found"},
      {{"eval", "--model", "/none\xff.onnx", "--data", "glyphs"}, "not_found"},
      {{"eval", "--bogus"}, "invalid_argument"},
      {{"evil"}, "invalid_argument"}};
  for (auto [arguments, code] : cases) {
    arguments.insert(arguments.begin(), program());
    arguments.emplace_back("--json");
    const Finished run = run_program(arguments);
    EXPECT_EQ(run.status, 2);
    const auto object = nlohmann::json::parse(run.out, nullptr, false);
    ASSERT_TRUE(object.is_object()) << run.out;
    EXPECT_EQ(object["error"]["code"], code);
  }
}

TEST(CommandLine, FullStandardOutputIsAFailure) {
  const Finished run = run_program({"/bin/sh", "-c", program() + " data list --json > /dev/full"});
  EXPECT_EQ(run.status, 1);
  EXPECT_NE(run.err.find("standard output"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace mangrove
