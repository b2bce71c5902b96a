#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/base/temporary_folder.h"
#include "tests/cli/process.h"

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

Finished run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), program());
  return run_program(arguments);
}

/// So many images of noise in IDX files; `dark`: their upper left quarter is zeros.
void write_images(const fs::path& folder, const std::string& name, int count, bool dark = false) {
  const auto number = [](int n) { return std::string{'\0', '\0', static_cast<char>(n >> 8), static_cast<char>(n)}; };
  std::string images = std::string("\0\0\x08\x03", 4) + number(count) + number(28) + number(28);
  std::string labels = std::string("\0\0\x08\x01", 4) + number(count);
  Random random(9);
  for (int i = 0; i < count * 784; ++i) {
    const auto pixel = static_cast<char>(random.below(256));
    images += dark && i % 28 < 14 && i % 784 < 14 * 28 ? '\0' : pixel;
  }
  for (int i = 0; i < count; ++i) labels += static_cast<char>(i % 10);
  std::ofstream(folder / (name + "-images-idx3-ubyte"), std::ios::binary) << images;
  std::ofstream(folder / (name + "-labels-idx1-ubyte"), std::ios::binary) << labels;
}

class Exits : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(save_onnx(zoo::build_model("branchy-lenet", {}).value(), folder_ / "m.onnx").ok());
    write_images(folder_.path(), "train", 200);
    write_images(folder_.path(), "t10k", 64);
  }
  std::string model() const { return folder_ / "m.onnx"; }
  std::string data() const { return "idx:" + folder_.path().string() + ",validation=100"; }
  const TemporaryFolder folder_;
};

TEST_F(Exits, EvalTellsOfEachExitAndOfTheWholeNetwork) {
  const Finished all =
      run({"eval", "--model", model(), "--data", data(), "--exit-thresholds", "1", "--batch", "20", "--json"});
  ASSERT_EQ(all.status, 0) << all.err;
  const json first = json::parse(all.out);
  ASSERT_EQ(first["exits"].size(), 2u);
  EXPECT_EQ(first["exits"][0]["output"], "exit1");
  EXPECT_EQ(first["exits"][0]["samples"], first["images"]);
  EXPECT_EQ(first["exits"][0]["accuracy"], first["accuracy"]);
  EXPECT_EQ(first["exits"][1]["share"], 0);
  EXPECT_TRUE(first["exits"][1]["accuracy"].is_null());
  const json last =
      json::parse(run({"eval", "--model", model(), "--data", data(), "--exit-thresholds", "0", "--json"}).out);
  const json whole = json::parse(run({"eval", "--model", model(), "--data", data(), "--json"}).out);
  EXPECT_FALSE(whole.contains("exits"));
  EXPECT_EQ(last["confusion"], whole["confusion"]);
  EXPECT_EQ(last["without_exits"]["accuracy"], whole["accuracy"]);
  EXPECT_EQ(first["without_exits"]["accuracy"], whole["accuracy"]);
}

TEST_F(Exits, TunedThresholdsAreInTheFileAndUsed) {
  const std::string tuned = folder_ / "tuned.onnx";
  // an untrained network: all must leave at the first exit, for nothing may pass it
  const Finished done =
      run({"tune-exits", model(), "--data", data(), "--target", "traffic(0)", "--batch", "8", "-o", tuned, "--json"});
  ASSERT_EQ(done.status, 0) << done.err;
  const json report = json::parse(done.out);
  EXPECT_EQ(report["samples"], 100);
  EXPECT_EQ(report["exits"][0]["share"], 1);
  EXPECT_EQ(report["forecast"]["exits"][0]["passed_bytes_per_sample"], 0);
  EXPECT_NEAR(report["forecast"]["accuracy"].get<double>(), report["accuracy"].get<double>(), 0.011);
  EXPECT_EQ(report["segments"][0]["passed_bytes"], 14 * 14 * 16 * 4);
  EXPECT_EQ(report["segments"][1]["runs"].size(), 4u);  // of 1, 2, 4 and 8 samples
  EXPECT_FALSE(load_onnx(model())->metadata().contains("mangrove.exit_thresholds"));
  EXPECT_EQ(load_onnx(tuned)->metadata().at("mangrove.exit_thresholds"), report["thresholds_text"]);
  EXPECT_EQ(load_onnx(tuned)->metadata().at("mangrove.exit_shares"), "1");
  EXPECT_EQ(json::parse(run({"eval", "--model", tuned, "--data", data(), "--json"}).out)["exits"][0]["samples"], 64);
  EXPECT_FALSE(json::parse(run({"eval", "--model", tuned, "--data", data(), "--exit-thresholds", "none", "--json"}).out)
                   .contains("exits"));
  std::ofstream(folder_ / "x.npy", std::ios::binary) << encode_npy(Tensor(DType::f32, {3, 1, 28, 28}));
  const auto predict = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"predict", tuned, "--input", folder_ / "x.npy", "--batch", "2", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return json::parse(run(arguments).out);
  };
  EXPECT_EQ(predict({})["left_at_exits"], predict({"--exit-thresholds", report["thresholds_text"]})["left_at_exits"]);
  const json early = predict({"--exit-thresholds", "1"});
  EXPECT_EQ(early["left_at_exits"], (json{3, 0}));
  EXPECT_EQ(early["samples"][2]["exit"], 1);
  EXPECT_EQ(early["exit_thresholds"], json{1});
  EXPECT_EQ(early["samples"][2]["top"].size(), 5u);
  ASSERT_EQ(early["outputs"].size(), 1u);
  EXPECT_EQ(early["outputs"][0]["shape"], (json{3, 10}));
}

TEST_F(Exits, PredictKeepsSharesThatWereTunedForTimeOrTraffic) {
  const std::string tuned = folder_ / "tuned.onnx";
  const auto tune = [&](const std::string& target) {
    const Finished done = run({"tune-exits", model(), "--data", data(), "--target", target, "-o", tuned, "--json"});
    EXPECT_EQ(done.status, 0) << done.err;
    return json::parse(done.out);
  };
  Tensor images(DType::f32, {40, 1, 28, 28});
  Random random(4);
  for (float& pixel : images.as<float>()) pixel = static_cast<float>(random.normal());
  std::ofstream(folder_ / "x.npy", std::ios::binary) << encode_npy(images);
  const auto predict = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"predict", tuned, "--input", folder_ / "x.npy", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return json::parse(run(arguments).out)["exit_thresholds"];
  };
  const json traffic = tune("traffic(6KB)");  // of 12.5 KB: half of the samples may go on
  EXPECT_TRUE(traffic["keeps_shares"]);
  EXPECT_NEAR(std::stod(load_onnx(tuned)->metadata().at("mangrove.exit_shares")),
              traffic["forecast"]["exits"][0]["share"].get<double>(), 1e-4);
  EXPECT_NE(predict({}), traffic["thresholds"]);
  EXPECT_EQ(predict({"--exit-thresholds", traffic["thresholds_text"]}), traffic["thresholds"]) << "as they were typed";
  const json accuracy = tune("accuracy(0.5)");
  EXPECT_FALSE(accuracy["keeps_shares"]);
  EXPECT_FALSE(load_onnx(tuned)->metadata().contains("mangrove.exit_shares"));
  EXPECT_EQ(predict({}), accuracy["thresholds"]);
}

TEST_F(Exits, ANetworkOverTiersAnswersAsOnOneDevice) {
  const Finished tuned = run({"tune-exits", model(), "--data", data(), "--target", "traffic(6KB)", "--json"});
  ASSERT_EQ(tuned.status, 0) << tuned.err;
  std::ofstream(folder_ / "tiers.yaml") << "model: " << model() << "\nend:\n  count: 2\n  exits: 1\nedge:\n";
  const auto alone = json::parse(run({"eval", "--model", model(), "--data", data(), "--batch", "16", "--json"}).out);
  const Finished done = run({"infer", "--tiers", folder_ / "tiers.yaml", "--data", data(), "--micro-batch", "16",
                             "--run-dir", folder_ / "run", "--json"});
  ASSERT_EQ(done.status, 0) << done.err;
  const json over_tiers = json::parse(done.out);
  EXPECT_EQ(over_tiers["accuracy"], alone["accuracy"]);
  EXPECT_EQ(over_tiers["lost"], 0);
  for (std::size_t exit = 0; exit < 2; ++exit) {
    EXPECT_GT(alone["exits"][exit]["samples"], 0) << "else the test shows less than it says";
    EXPECT_EQ(over_tiers["exits"][exit]["images"], alone["exits"][exit]["samples"]);
    EXPECT_EQ(over_tiers["exits"][exit]["accuracy"], alone["exits"][exit]["accuracy"]);
  }
  EXPECT_EQ(over_tiers["sent_up_bytes"], over_tiers["exits"][1]["images"].get<int>() * 14 * 14 * 16 * 4);
}

TEST_F(Exits, WhatIsWrongIsSaid) {
  const auto refused = [&](std::vector<std::string> arguments, const std::string& why) {
    const Finished done = run(std::move(arguments));
    EXPECT_EQ(done.status, 2) << done.err;
    EXPECT_NE(done.err.find(why), std::string::npos) << done.err;
  };
  refused({"eval", "--model", model(), "--data", data(), "--exit-thresholds", "0.5,0.5"},
          "expected 1 number from 0 to 1");
  refused({"tune-exits", model(), "--data", data(), "--target", "speed"}, "target: expected accuracy(SHARE)");
  refused({"tune-exits", model(), "--data", data(), "--target", "traffic(10,0)"}, "target: expected accuracy(SHARE)");
  refused({"tune-exits", model(), "--data", data(), "--target", "traffic(10,2)"}, "exit 2 is no early exit");
  refused({"tune-exits", model()}, "give --data");
  ASSERT_TRUE(save_onnx(zoo::build_model("lenet", {}).value(), folder_ / "plain.onnx").ok());
  refused({"tune-exits", folder_ / "plain.onnx", "--data", data()}, "has no early exits");
  refused({"eval", "--model", folder_ / "plain.onnx", "--data", data(), "--exit-thresholds", "0.5"},
          "has no early exits");
  const auto tiers = [&](const std::string& network, const std::string& rest, std::vector<std::string> flags = {}) {
    std::ofstream(folder_ / "tiers.yaml") << "model: " << network << "\nend:\n" << rest;
    std::vector<std::string> arguments = {"infer", "--tiers",   folder_ / "tiers.yaml", "--data",
                                          data(),  "--run-dir", folder_ / "run"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return arguments;
  };
  const std::vector<std::string> half = {"--exit-thresholds", "0.5"};
  refused(tiers(model(), "  exits: 1\nedge:\n"), "key 'exits': there are no thresholds");
  refused(tiers(model(), "  exits: 1\nedge:\n", {"--exit-thresholds", "none"}),
          "exit_thresholds: 'none' is not possible");
  refused(tiers(model(), "edge:\n"), "has early exits: give the section 'end' the key 'exits'");
  refused(tiers(folder_ / "plain.onnx", "edge:\n  model: branchy-lenet\n"), "tier 'edge': network");
  refused(tiers(model(), "  exits: 2\nedge:\n", half), "end devices cannot have 2 of the 1 early exit");
  refused(tiers(model(), "  exits: 1\nedge:\n  exits: 1\ncloud:\n", half), "exits: edge servers go on behind exit 1");
  refused(tiers(model(), "  exits: 1\ncloud:\n  exits: 1\n", half), "tier 'cloud': key 'exits': it is of end devices");
  refused(tiers(model(), "  exits: 1\nedge:\n  model: branchy-lenet\ncloud:\n  model: lenet\n", half),
          "cloud has another network than end");
  refused(tiers(model(), "  exits: 1\ncloud:\n  trusted: false\n  privacy: split@pool1\n", half),
          "cloud is not trusted");
  refused(tiers(model(), "  exits: 1\n", half), "scheduler: auto needs a tier edge or cloud");
  refused(tiers(folder_ / "plain.onnx", "  exits: 1\nedge:\n", half), "key 'exits': network");
  refused(tiers(folder_ / "plain.onnx", "edge:\n", half), "exit_thresholds: are for tiers of one network");
  refused({"infer", "--model", model(), "--data", data(), "--exit-thresholds", "0.5", "--run-dir", folder_ / "run"},
          "--exit-thresholds: strategy 'pipeline' has no such key; it belongs to views and tiers");
}

TEST(LostViews, AreAsIfTheirPartsOfTheImagesWereZeros) {
  const TemporaryFolder folder;
  ASSERT_TRUE(save_onnx(zoo::build_model("ddnn-4", {}).value(), folder / "m.onnx").ok());
  const auto confusion = [&](const std::string& images, std::vector<std::string> flags) {
    std::vector<std::string> arguments{
        "eval", "--model", folder / "m.onnx", "--data", "idx:" + (folder / images).string(), "--json"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.status, 0) << finished.err;
    return json::parse(finished.out)["confusion"];
  };
  for (const bool dark : {false, true}) {
    const fs::path images = folder / (dark ? "dark" : "light");
    fs::create_directory(images);
    write_images(images, "train", 20, dark);
    write_images(images, "t10k", 200, dark);
  }
  const json lost = confusion("light", {"--lost-views", "1"});
  EXPECT_EQ(lost, confusion("dark", {}));
  EXPECT_NE(lost, confusion("light", {}));
  EXPECT_EQ(lost, confusion("dark", {"--lost-views", "1"}));
}

TEST_F(Exits, InferRunsANetworkOfViewsOverADeviceForEach) {
  const std::string untuned = folder_ / "views.onnx", tuned = folder_ / "tuned.onnx";
  ASSERT_TRUE(save_onnx(zoo::build_model("ddnn-4", {}).value(), untuned).ok());
  const auto job = [&](const std::string& command, std::vector<std::string> flags) {
    std::vector<std::string> arguments{command, "--data", data(), "--backend", "portable", "--json"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.status, 0) << finished.err;
    return json::parse(finished.out);
  };
  const Finished done = run({"tune-exits", untuned, "--data", data(), "--target", "traffic(300)", "-o", tuned});
  ASSERT_EQ(done.status, 0) << done.err;
  const std::vector<std::string> infer{"--strategy", "views", "--model", tuned, "--run-dir", folder_ / "run"};
  std::vector<std::string> on_five = infer, on_three = infer;
  on_five.insert(on_five.end(), {"--local", "5"});
  on_three.insert(on_three.end(), {"--local", "3"});
  const json result = job("infer", on_five), whole = job("eval", {"--model", tuned});
  EXPECT_EQ(result["accuracy"], whole["accuracy"]);
  EXPECT_EQ(result["views"].size(), 4u);
  EXPECT_EQ(result["lost"], 0);
  for (std::size_t exit = 0; exit < 2; ++exit) {
    EXPECT_EQ(result["exits"][exit]["images"], whole["exits"][exit]["samples"]);
    EXPECT_GT(result["exits"][exit]["images"], 0) << "else the test shows less than it says";
  }
  on_three.insert(on_three.begin(), "infer");
  on_three.insert(on_three.end(), {"--data", data()});
  const Finished few = run(on_three);
  EXPECT_EQ(few.status, 2);
  EXPECT_NE(few.err.find("it needs at least 4 nodes, got 3"), std::string::npos) << few.err;
}

TEST_F(Exits, InferRefusesToLayANetworkWithoutViewsOverDevices) {
  const Finished finished = run({"infer", "--strategy", "views", "--model", model(), "--data", data(), "--local", "2",
                                 "--run-dir", folder_ / "run"});
  EXPECT_EQ(finished.status, 2);
  EXPECT_NE(finished.err.find("does not take its image apart into views"), std::string::npos) << finished.err;
}

TEST_F(Exits, EvalRefusesToLoseViewsThatAreNotThere) {
  const Finished finished = run({"eval", "--model", model(), "--data", data(), "--lost-views", "1"});
  EXPECT_EQ(finished.status, 2);
  EXPECT_NE(finished.err.find("lost_views: '1': the network does not take its image apart"), std::string::npos)
      << finished.err;
}

}  // namespace
}  // namespace mangrove
