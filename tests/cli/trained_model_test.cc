// What is trained is used again: the same samples get the same classes, whichever command reads them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/base/temporary_folder.h"
#include "tests/cli/process.h"

#include "mangrove/base/file.h"

namespace mangrove {
namespace {

using nlohmann::json;
using testing::program;
using testing::run_program;
using testing::TemporaryFolder;

/// The result of a command that must end well.
json model_result_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), program());
  arguments.emplace_back("--json");
  const testing::Finished run = run_program(arguments, /*timeout=*/200);
  EXPECT_EQ(run.status, 0) << run.err;
  return json::parse(run.out, nullptr, /*allow_exceptions=*/false);
}

/// Of the images in FOLDER/CLASS/*, how many predict gives their class.
double accuracy_of_predict(const std::string& model, const fs::path& folder) {
  std::size_t right = 0, total = 0;
  for (const auto& of_class : fs::directory_iterator(folder)) {
    const json report = model_result_of({"predict", model, "--input", of_class.path(), "--batch", "50"});
    for (const json& sample : report["samples"]) {
      ++total;
      right += sample["top"][0]["label"] == of_class.path().filename().string();
    }
  }
  return static_cast<double>(right) / static_cast<double>(total);
}

/// What each line of text says.
std::vector<json> objects(const std::string& text) {
  std::vector<json> all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    all.push_back(json::parse(text.substr(at, end - at), nullptr, /*allow_exceptions=*/false));
    at = end + 1;
  }
  return all;
}

/// Images go through a cluster as through predict: from a folder, or by their names on standard input, one of which is
/// no image's.
void expect_infer_like_predict(const std::string& model, const fs::path& folder, bool by_names) {
  const std::string names = "(echo /none.png; ls -d " + folder.string() + "/*) | ";
  const std::string infer = program() + " infer --model " + model +
                            " --local 2 --stages 2 --micro-batch 4 --json --run-dir " + model + ".run --input ";
  const testing::Finished run =
      run_program({"/bin/sh", "-c", by_names ? names + infer + "-" : infer + folder.string()}, /*timeout=*/200);
  ASSERT_EQ(run.status, 0) << run.err;
  std::map<std::string, json> answers;
  const std::vector<json> lines = objects(run.out);
  for (const json& line : lines)
    if (line.contains("name")) answers[line["name"]] = line;
  ASSERT_EQ(lines.back()["images"], answers.size()) << "the result comes last, and each image once";
  const json report = model_result_of({"predict", model, "--input", folder});
  for (const json& sample : report["samples"]) {
    const json& answer = answers.at(sample["input"]);
    EXPECT_EQ(answer["label"], sample["top"][0]["label"]);
    EXPECT_NEAR(answer["confidence"], sample["top"][0]["probability"], 1e-4);
  }
  EXPECT_EQ(answers.size(), report["samples"].size() + (by_names ? 1 : 0));
  EXPECT_EQ(lines.back()["unreadable"], by_names ? 1 : 0);
  EXPECT_EQ(answers.count("/none.png"), by_names ? 1u : 0u);
}

class TrainedModel : public ::testing::TestWithParam<const char*> {};

TEST_P(TrainedModel, PredictsAsItWasEvaluated) {
  const TemporaryFolder folder;
  const std::string images = folder / "digits", run = folder / "run";
  model_result_of({"data", "make", "images", "--data", "glyphs", "--to", images, "--limit", "600"});
  const json trained =
      model_result_of({"train", "--model", "mlp", "--data", "folder:" + images, "--augment", GetParam(), "--epochs",
                       "6", "--batch", "32", "--warmup-steps", "5", "--run-dir", run});
  EXPECT_GT(trained["accuracy"], 0.3);
  EXPECT_LT(trained["accuracy"], 1.0) << "there must be something to get wrong";
  EXPECT_NEAR(accuracy_of_predict(run + "/model.onnx", images + "/test"), trained["accuracy"].get<double>(), 1e-9);
  const std::string recipe = GetParam();
  if (recipe != "none") expect_infer_like_predict(run + "/model.onnx", images + "/test/3", recipe == "normalise");
  const json evaluated = model_result_of({"eval", "--model", run + "/model.onnx", "--data", "folder:" + images});
  EXPECT_NEAR(evaluated["accuracy"].get<double>(), trained["accuracy"].get<double>(), 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Augmentations, TrainedModel, ::testing::Values("none", "normalise", "pad-crop:2,zca:0.1"),
                         [](const auto& test) {
                           const std::string recipe = test.param;
                           return recipe.substr(recipe.rfind(',') + 1, 3);
                         });

TEST(TrainedOnCsv, AFolderWithoutValidationFileTrainsValidatesAndEvaluates) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "motion");
  model_result_of({"data", "make", "sensors", "--to", folder / "motion/train.csv", "--recordings", "24"});
  model_result_of({"data", "make", "sensors", "--to", folder / "motion/test.csv", "--recordings", "8", "--seed", "2"});
  const std::string data = "csv:" + (folder / "motion").string() + ",window=128,skip=time,group=recording";
  const json all = model_result_of({"data", "info", data}),
             parts = model_result_of({"data", "info", data + ",validation=0.25"});
  EXPECT_FALSE(all["splits"].contains("validation"));
  EXPECT_EQ(parts["splits"]["train"]["samples"].get<int>() + parts["splits"]["validation"]["samples"].get<int>(),
            all["splits"]["train"]["samples"].get<int>());
  const json trained = model_result_of({"train", "--model",   "gru-16-1",    "--data",      data,   "--validation",
                                        "0.25",  "--augment", "normalise",   "--optimizer", "adam", "--learning-rate",
                                        "0.01",  "--batch",   "8",           "--epochs",    "15",   "--warmup-steps",
                                        "2",     "--run-dir", folder / "run"});
  EXPECT_EQ(trained["samples"], 15 * parts["splits"]["train"]["samples"].get<int>());
  EXPECT_GE(trained["best_epoch"], 1) << "validated";
  EXPECT_GT(trained["accuracy"], 0.5) << "of four activities";
  const json evaluated = model_result_of({"eval", "--model", folder / "run/model.onnx", "--data", data});
  EXPECT_EQ(evaluated["accuracy"], trained["accuracy"]);
}

}  // namespace
}  // namespace mangrove
