#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/base/temporary_folder.h"
#include "tests/cli/process.h"

#include "mangrove/base/file.h"
#include "mangrove/data/image.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove {
namespace {

using nlohmann::json;
using testing::Finished;
using testing::program;
using testing::run_program;
using testing::TemporaryFolder;

class PrivacyCommand : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(save_onnx(zoo::build_model("lenet", {}).value(), folder_ / "m.onnx").ok()); }
  Finished run(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {program(), "privacy", "--model", folder_ / "m.onnx"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  }
  const TemporaryFolder folder_;
};

TEST_F(PrivacyCommand, ReportsEachSettingOfEachCut) {
  const std::string grid = folder_ / "grid.png";
  const Finished done = run({"--data", "glyphs", "--cuts", "conv1, pool1", "--levels", "2,16", "--noise", "0.5",
                             "--steps", "2", "--images", "12", "--grid", grid, "--json"});
  ASSERT_EQ(done.status, 0) << done.err;
  const json report = json::parse(done.out);
  ASSERT_EQ(report["settings"].size(), 8u);
  EXPECT_EQ(report["images"], 12);
  EXPECT_EQ(report["image_bytes"], 784);
  EXPECT_TRUE(report["guess"].contains("ssim"));
  const json &plain = report["settings"][0], &coarse = report["settings"][5];
  EXPECT_EQ(plain["privacy"], "split@conv1");
  EXPECT_EQ(plain["accuracy_cost"], 0);
  EXPECT_EQ(plain["bytes"], 4 * 20 * 24 * 24);
  EXPECT_EQ(plain["bottom_multiply_adds"], 24 * 24 * 25 * 20);
  EXPECT_EQ(coarse["privacy"], "split@pool1,levels=2");
  EXPECT_EQ(coarse["bytes"], 8 + 20 * 12 * 12 / 8);
  for (const json& setting : report["settings"]) {
    EXPECT_TRUE(setting["ssim"] >= -1.0 && setting["ssim"] <= 1.0);
    EXPECT_GT(setting["psnr_db"], 0.0);
    EXPECT_GT(setting["bottom_s"], 0.0);
  }
  const auto image = data::load_image(grid);
  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_EQ(image->width, 8 * 28);
  EXPECT_EQ(image->height, 9 * 28) << "the images, and a row for each setting";
  EXPECT_NE(done.err.find("split@pool1,noise=0.5"), std::string::npos) << "the table";
}

TEST_F(PrivacyCommand, TakesTheFirstCutsByItself) {
  const Finished done =
      run({"--data", "glyphs", "--levels", "", "--noise", "", "--steps", "1", "--images", "4", "--json"});
  ASSERT_EQ(done.status, 0) << done.err;
  std::vector<std::string> layers;
  const json report = json::parse(done.out);
  for (const json& setting : report["settings"]) layers.push_back(setting["layer"]);
  EXPECT_EQ(layers, (std::vector<std::string>{"conv1", "tanh1", "pool1", "conv2"}));
}

TEST_F(PrivacyCommand, TrainsNoiseThatATierFileTakes) {
  const std::string noise = folder_ / "noise.safetensors";
  const Finished done = run({"--data", "glyphs", "--cuts", "pool1,pool2", "--levels", "", "--noise", "", "--trained",
                             noise, "--snr", "0.5", "--steps", "2", "--images", "12", "--json"});
  ASSERT_EQ(done.status, 0) << done.err;
  const json report = json::parse(done.out);
  ASSERT_EQ(report["settings"].size(), 4u);
  const json &plain = report["settings"][2], &trained = report["settings"][3];
  EXPECT_EQ(trained["privacy"], "split@pool2,trained=" + noise);
  EXPECT_EQ(trained["trained"], noise);
  EXPECT_GT(trained["snr"], 0.5);
  EXPECT_TRUE(plain["snr"].is_null()) << "nothing is changed";
  EXPECT_EQ(trained["bytes"], plain["bytes"]);
  const auto infer = [&](const std::string& layer) {
    const std::string tiers = "model: " + (folder_ / "m.onnx").string() + "\nend:\ncloud:\n  trusted: false\n" +
                              "  privacy: split@" + layer + ",trained=" + noise + "\n";
    EXPECT_TRUE(write_file_atomically(folder_ / "tiers.yaml", tiers).ok());
    return run_program({program(), "infer", "--tiers", folder_ / "tiers.yaml", "--data", "glyphs", "--scheduler",
                        "end-cloud", "--limit", "100", "--run-dir", folder_ / "run", "--json"});
  };
  const Finished answered = infer("pool1");
  ASSERT_EQ(answered.status, 0) << answered.err;
  const json result = json::parse(answered.out);
  EXPECT_EQ(result["tiers"][1]["images"], 100);
  EXPECT_EQ(result["lost"], 0);
  const Finished refused = infer("conv2");
  EXPECT_EQ(refused.status, 2) << refused.err;
  EXPECT_NE(refused.err.find("no noise for layer 'conv2', only for 'pool1', 'pool2'"), std::string::npos)
      << refused.err;
}

TEST_F(PrivacyCommand, WhatIsWrongIsSaid) {
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& why) {
    const Finished done = run(arguments);
    EXPECT_EQ(done.status, 2) << done.err;
    EXPECT_NE(done.err.find(why), std::string::npos) << done.err;
  };
  refused({"--data", "glyphs", "--cuts", "cov1"}, "no node 'cov1'; did you mean 'conv1'?");
  refused({"--data", "glyphs", "--levels", "1"}, "privacy: expected split@LAYER");
  refused({}, "give --data");
}

}  // namespace
}  // namespace mangrove
