#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/base/temporary_folder.h"
#include "tests/cli/process.h"

#include "mangrove/base/file.h"
#include "mangrove/base/random.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/tensor/npy.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove {
namespace {

using nlohmann::json;
using testing::Finished;
using testing::program;
using testing::run_program;
using testing::TemporaryFolder;

Finished quantize(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {program(), "quantize"});
  return run_program(arguments);
}

void write(const fs::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

std::string random_array(Shape shape) {
  Tensor x(DType::f32, std::move(shape));
  Random random(3);
  for (float& element : x.as<float>()) element = static_cast<float>(random.uniform());
  return encode_npy(x);
}

void save_lenet(const fs::path& path) {
  ASSERT_TRUE(save_onnx(zoo::build_model("lenet", {}).value(), path).ok());
}

TEST(Quantize, ArraysLeaveAModelThatPredictsAlmostTheSame) {
  const TemporaryFolder folder;
  save_lenet(folder / "m.onnx");
  write(folder / "x.npy", random_array({24, 1, 28, 28}));
  const Finished run = quantize({folder / "m.onnx", "--calibrate", folder / "x.npy", "--samples", "16", "--method",
                                 "entropy", "--skip", "fc2", "-o", folder / "q.onnx", "--json", "--quiet"});
  ASSERT_EQ(run.status, 0) << run.err;
  const json report = json::parse(run.out);
  EXPECT_EQ(report["calibration_samples"], 16);
  EXPECT_EQ(report["method"], "entropy");
  EXPECT_EQ(report["comparison"]["samples"], 8);
  EXPECT_EQ(report["comparison"]["held_back"], true);
  EXPECT_FALSE(report["comparison"].contains("accuracy"));
  EXPECT_GE(report["comparison"]["outputs"][0]["snr_db"].get<double>(), 20);
  ASSERT_EQ(report["layers"].size(), 4u);
  EXPECT_EQ(report["layers"][0], (json{{"name", "conv1"}, {"operator", "Conv"}, {"quantized", true}}));
  EXPECT_EQ(report["layers"][3]["why"], "skipped");
  EXPECT_EQ(report["bytes"]["quantized"], fs::file_size(folder / "q.onnx"));
  EXPECT_LT(report["bytes"]["quantized"].get<double>(), 0.3 * report["bytes"]["float"].get<double>());
  const Graph graph = load_onnx(folder / "q.onnx").value();
  const auto has = [&](const char* op) {
    return std::ranges::count(graph.nodes(), op, [](const Node& node) { return node.op; });
  };
  EXPECT_EQ(has("QuantizeLinear"), 6);  // input, tanh1, pool1, tanh2, pool2, flatten
}

TEST(Quantize, ADataSetIsComparedByAccuracyOnItsTestSplit) {
  const TemporaryFolder folder;
  save_lenet(folder / "m.onnx");
  const Finished run = quantize({folder / "m.onnx", "--calibrate", "glyphs", "--samples", "8", "--limit", "50", "-o",
                                 folder / "q.onnx", "--json"});
  ASSERT_EQ(run.status, 0) << run.err;
  const json comparison = json::parse(run.out)["comparison"];
  EXPECT_EQ(comparison["samples"], 50);
  EXPECT_EQ(comparison["held_back"], true);
  EXPECT_GE(comparison["agreement"].get<double>(), 0.8);
  EXPECT_NEAR(comparison["accuracy"]["float"].get<double>(), comparison["accuracy"]["quantized"].get<double>(), 0.1);
  EXPECT_NE(run.err.find("top-1 accuracy"), std::string::npos) << run.err;
}

TEST(Quantize, WhereAllSamplesCalibrateTheReportSaysThatTheyAreCompared) {
  const TemporaryFolder folder;
  save_lenet(folder / "m.onnx");
  write(folder / "x.npy", random_array({5, 1, 28, 28}));
  const Finished run = quantize({folder / "m.onnx", "--calibrate", folder / "x.npy", "-o", folder / "q.onnx"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_NE(run.out.find("5 samples: those used for calibration"), std::string::npos) << run.out;
}

TEST(Quantize, CtrlCLeavesNothing) {
  const TemporaryFolder folder;
  save_lenet(folder / "m.onnx");
  testing::Process process({program(), "quantize", folder / "m.onnx", "--calibrate", "glyphs", "--samples", "1000000",
                            "-o", folder / "q.onnx"});
  ASSERT_TRUE(process.wait_until([&] { return process.err().find("calibrate") != std::string::npos; }, 60));
  process.signal(SIGINT);
  EXPECT_EQ(process.wait(60), 130) << process.err();
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

struct QuantizeCommandUsage {
  const char* name;
  std::vector<std::string> arguments;
  int status;
  const char* says;
};

class BadQuantizeUsage : public ::testing::TestWithParam<QuantizeCommandUsage> {};

TEST_P(BadQuantizeUsage, IsOneLineAndLeavesNoFile) {
  const TemporaryFolder folder;
  save_lenet(folder / "m.onnx");
  write(folder / "x.npy", random_array({2, 1, 28, 28}));
  write(folder / "wrong.npy", random_array({2, 1, 27, 28}));
  write(folder / "none.npy", random_array({0, 1, 28, 28}));
  fs::create_directories(folder / "empty");
  std::vector<std::string> arguments = {"-o", folder / "q.onnx", "--quiet"};
  for (std::string argument : GetParam().arguments) {
    if (const auto at = argument.find("$T"); at != std::string::npos) argument.replace(at, 2, folder.path());
    arguments.push_back(argument);
  }
  const Finished run = quantize(arguments);
  EXPECT_EQ(run.status, GetParam().status) << run.err;
  EXPECT_NE(run.err.find(GetParam().says), std::string::npos) << run.err;
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  EXPECT_FALSE(fs::exists(folder / "q.onnx"));
}

INSTANTIATE_TEST_SUITE_P(
    Quantize, BadQuantizeUsage,
    ::testing::Values(
        QuantizeCommandUsage{"no_data", {"$T/m.onnx"}, 2, "--calibrate"},
        QuantizeCommandUsage{"zoo_name", {"lenet", "--calibrate", "$T/x.npy"}, 2, "needs trained weights"},
        QuantizeCommandUsage{"no_model", {"$T/none.onnx", "--calibrate", "$T/x.npy"}, 2, "none.onnx"},
        QuantizeCommandUsage{
            "wrong_shape", {"$T/m.onnx", "--calibrate", "$T/wrong.npy"}, 2, "the model takes f32 [N, 1, 28, 28]"},
        QuantizeCommandUsage{"no_samples", {"$T/m.onnx", "--calibrate", "$T/none.npy"}, 2, "[0, 1, 28, 28]"},
        QuantizeCommandUsage{"empty_folder", {"$T/m.onnx", "--calibrate", "$T/empty"}, 2, "empty"},
        QuantizeCommandUsage{
            "other_classes", {"$T/m.onnx", "--calibrate", "glyphs", "--calibrate", "$T/x.npy"}, 2, "not one"},
        QuantizeCommandUsage{"unknown_data", {"$T/m.onnx", "--calibrate", "mnits"}, 2, "mnist"},
        QuantizeCommandUsage{"method", {"$T/m.onnx", "--calibrate", "$T/x.npy", "--method", "min"}, 2, "--method"},
        QuantizeCommandUsage{"skip", {"$T/m.onnx", "--calibrate", "$T/x.npy", "--skip", "conv3"}, 2, "'conv3'"},
        QuantizeCommandUsage{
            "skip_all", {"$T/m.onnx", "--calibrate", "$T/x.npy", "--skip", "Conv", "--skip", "Gemm"}, 1, "nothing"},
        QuantizeCommandUsage{"backend", {"$T/m.onnx", "--calibrate", "$T/x.npy", "--backend", "cuda12"}, 2, "cuda12"}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(Quantize, RefusesWhatItMadeItselfAndFilesThatItCannotOrMustNotWrite) {
  const TemporaryFolder folder;
  save_lenet(folder / "m.onnx");
  write(folder / "x.npy", random_array({2, 1, 28, 28}));
  ASSERT_EQ(quantize({folder / "m.onnx", "--calibrate", folder / "x.npy", "-o", folder / "q.onnx"}).status, 0);
  const Finished twice = quantize({folder / "q.onnx", "--calibrate", folder / "x.npy", "-o", folder / "qq.onnx"});
  EXPECT_EQ(twice.status, 1);
  EXPECT_NE(twice.err.find("quantized already"), std::string::npos) << twice.err;
  const Finished lost = quantize({folder / "m.onnx", "--calibrate", folder / "x.npy", "-o", folder / "none/q.onnx"});
  EXPECT_EQ(lost.status, 2);
  EXPECT_NE(lost.err.find("no such folder"), std::string::npos) << lost.err;
  const std::string before = read_file(folder / "m.onnx").value();
  const Finished same = quantize({folder / "m.onnx", "--calibrate", folder / "x.npy", "-o", folder / "." / "m.onnx"});
  EXPECT_EQ(same.status, 2);
  EXPECT_NE(same.err.find("is the model itself"), std::string::npos) << same.err;
  EXPECT_EQ(read_file(folder / "m.onnx").value(), before);
  const Finished onto = quantize({folder / "m.onnx", "--calibrate", folder / "x.npy", "-o", folder / "."});
  EXPECT_EQ(onto.status, 2);
  EXPECT_NE(onto.err.find("is a folder"), std::string::npos) << onto.err;
  const Finished nowhere = quantize({folder / "m.onnx", "--calibrate", folder / "x.npy"});
  EXPECT_EQ(nowhere.status, 2);
  EXPECT_NE(nowhere.err.find("-o FILE.onnx"), std::string::npos) << nowhere.err;
}

}  // namespace
}  // namespace mangrove
