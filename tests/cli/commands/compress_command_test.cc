#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/base/temporary_folder.h"
#include "tests/cli/process.h"

#include "mangrove/base/file.h"
#include "mangrove/compress/coded_model.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove {
namespace {

using nlohmann::json;
using testing::Finished;
using testing::program;
using testing::run_program;
using testing::TemporaryFolder;

Finished compress_with(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {program(), "compress"});
  return run_program(arguments);
}

/// A network, and recipe.yaml.
void prepare_compression(const TemporaryFolder& folder, const std::string& recipe) {
  ASSERT_TRUE(save_onnx(zoo::build_model("mlp-32", {}).value(), folder / "m.onnx").ok());
  std::ofstream(folder / "recipe.yaml") << recipe;
}

constexpr const char* kShortRecipe =
    "- prune: {keep: 0.2, rounds: 2, epochs: 1, learning_rate: 0.1}\n- share: {fc_bits: 4, epochs: 1}\n";

TEST(Compress, LeavesACodedFileThatAnswersAsItsExportDoes) {
  const TemporaryFolder folder;
  prepare_compression(folder, kShortRecipe);
  const Finished run =
      compress_with({folder / "m.onnx", "--data", "glyphs", "--limit", "1000", "--recipe", folder / "recipe.yaml",
                     "--out", folder / "s.mgz", "--export", folder / "s.onnx", "--json", "--quiet"});
  ASSERT_EQ(run.status, 0) << run.err;
  const json report = json::parse(run.out);
  EXPECT_EQ(report["bytes"]["after"], fs::file_size(folder / "s.mgz"));
  EXPECT_EQ(report["bytes"]["before"], fs::file_size(folder / "m.onnx"));
  EXPECT_LT(report["bytes"]["after"].get<double>(), report["bytes"]["before"].get<double>() / 15);
  EXPECT_EQ(report["parameters"].size(), 4u);
  for (const json& parameter : report["parameters"])
    if (parameter["name"] == "fc1.weight") {
      EXPECT_NEAR(parameter["kept"].get<double>(), 0.2, 0.01);
      EXPECT_LE(parameter["values"], 16);
    }
  EXPECT_EQ(report["classes"].size(), 10u);
  EXPECT_EQ(report["gains"].size(), 2u);
  EXPECT_FALSE(fs::exists(folder / "s.mgz.progress"));
  const Graph coded = compress::parse_model(read_file(folder / "s.mgz").value()).value();
  EXPECT_EQ(encode_onnx(coded), read_file(folder / "s.onnx").value());
  // read as any other model file
  for (const char* file : {"s.mgz", "s.onnx"}) {
    const Finished eval = run_program({program(), "eval", "--model", folder / file, "--data", "glyphs", "--json"});
    ASSERT_EQ(eval.status, 0) << eval.err;
    EXPECT_EQ(json::parse(eval.out)["accuracy"], report["accuracy"]["after"]) << file;
  }
  EXPECT_EQ(run_program({program(), "model", "show", folder / "s.mgz"}).status, 0);
  const Finished served = run_program({program(), "infer", "--model", folder / "s.mgz", "--data", "glyphs", "--limit",
                                       "100", "--local", "1", "--strategy", "single", "--quiet", "--json"});
  EXPECT_EQ(served.status, 0) << served.err;
}

TEST(Compress, CtrlCKeepsWhatIsDoneAndResumeGoesOn) {
  const TemporaryFolder folder;
  prepare_compression(folder, "- prune: {keep: 0.2, rounds: 3, epochs: 4}\n");
  const std::vector<std::string> arguments = {
      program(), "compress", folder / "m.onnx",      "--data", "glyphs",        "--limit",
      "20000",   "--recipe", folder / "recipe.yaml", "--out",  folder / "s.mgz"};
  testing::Process process(arguments);
  ASSERT_TRUE(process.wait_until([&] { return fs::exists(folder / "s.mgz.progress"); }, 60)) << process.err();
  process.signal(SIGINT);
  EXPECT_EQ(process.wait(60), 130) << process.err();
  EXPECT_NE(process.err().find("--resume"), std::string::npos) << process.err();
  EXPECT_FALSE(fs::exists(folder / "s.mgz"));
  // another setting is another network
  std::vector<std::string> other = arguments;
  other.insert(other.end(), {"--resume", "--seed", "2"});
  const Finished refused = run_program(other);
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("another model, recipe, data, limit or seed"), std::string::npos) << refused.err;
  std::vector<std::string> again = arguments;
  again.push_back("--resume");
  const Finished resumed = run_program(again);
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_TRUE(fs::exists(folder / "s.mgz"));
  EXPECT_FALSE(fs::exists(folder / "s.mgz.progress"));
}

struct CompressUsage {
  const char* name;
  std::vector<std::string> arguments;
  int status;
  const char* says;
};

class BadCompressUsage : public ::testing::TestWithParam<CompressUsage> {};

TEST_P(BadCompressUsage, IsOneLineAndLeavesNoFile) {
  const TemporaryFolder folder;
  prepare_compression(folder, "- prune: {keep: 2}\n");
  std::ofstream(folder / "broken.mgz") << "MGZ1 and nothing of a network";
  std::vector<std::string> arguments = {"--quiet"};
  if (std::ranges::count(GetParam().arguments, "--data") == 0) arguments.insert(arguments.end(), {"--data", "glyphs"});
  for (std::string argument : GetParam().arguments) {
    if (const auto at = argument.find("$T"); at != std::string::npos) argument.replace(at, 2, folder.path());
    arguments.push_back(argument);
  }
  const auto files = std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator());
  const Finished run = compress_with(arguments);
  EXPECT_EQ(run.status, GetParam().status) << run.err;
  EXPECT_NE(run.err.find(GetParam().says), std::string::npos) << run.err;
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), files);
}

INSTANTIATE_TEST_SUITE_P(
    Compress, BadCompressUsage,
    ::testing::Values(CompressUsage{"zoo_name", {"lenet"}, 2, "needs trained weights"},
                      CompressUsage{"no_model", {"$T/none.onnx"}, 2, "none.onnx"},
                      CompressUsage{
                          "broken_model", {"$T/broken.mgz", "--out", "$T/o.mgz"}, 1, "not a coded model, or damaged"},
                      CompressUsage{"unknown_recipe", {"$T/m.onnx", "--recipe", "deep_compresion"}, 2, "did you mean"},
                      CompressUsage{"wrong_recipe", {"$T/m.onnx", "--recipe", "$T/recipe.yaml"}, 2, "recipe.yaml:1"},
                      CompressUsage{"over_the_model", {"$T/m.onnx", "--out", "$T/m.onnx"}, 2, "is the model itself"},
                      CompressUsage{"other_ending", {"$T/m.onnx", "--out", "$T/m.zip"}, 2, ".mgz or .onnx"},
                      CompressUsage{"export_to_coded", {"$T/m.onnx", "--export", "$T/e.mgz"}, 2, ".onnx"},
                      CompressUsage{"nothing_to_resume", {"$T/m.onnx", "--resume"}, 2, "m.mgz.progress"},
                      CompressUsage{"other_data", {"$T/m.onnx", "--data", "leaves"}, 2, "takes samples"}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace mangrove
