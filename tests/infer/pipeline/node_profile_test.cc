// What boards measured for one job is kept for the next one.
#include "mangrove/infer/pipeline/node_profile.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/base/temporary_folder.h"
#include "tests/infer/inference_job.h"

#include "mangrove/infer/networks.h"
#include "mangrove/infer/strategy.h"
#include "mangrove/plan/profile.h"

namespace mangrove::infer {
namespace {

using nlohmann::json;

constexpr std::int64_t kNodeProfileSamples = 12;

/// Boards that keep what they measured from one job to the next, each in a folder of its own.
class NodeProfileBoards {
 public:
  RoleWorld::Outcome infer(const InferJob& job, int nodes = 2) {
    RoleWorld world(nodes + 1);
    const InferJob of_nodes = without_networks(job);
    RoleWorld::Outcome outcome = world.run([&](job::RoleContext& context) {
      job::RoleContext own = context;
      own.data_folder = folder(context.endpoint.rank());
      return run_inference(context.endpoint.rank() == 0 ? job : of_nodes, own);
    });
    expect_exact(outcome, kNodeProfileSamples, "run");
    return outcome;
  }
  /// Of each board: "measured" or "kept".
  std::vector<std::string> profiles(const InferJob& job, int nodes = 2) {
    std::vector<std::string> all;
    const json result = json::parse(infer(job, nodes).result());
    for (const json& device : result["devices"]) all.push_back(device["profile"]);
    return all;
  }
  /// The only one that the board has.
  fs::path file(net::Rank rank) const {
    const fs::directory_iterator files(folder(rank) / "profiles");
    EXPECT_NE(begin(files), end(files));
    return begin(files)->path();
  }

 private:
  fs::path folder(net::Rank rank) const { return folder_ / std::to_string(rank); }
  mangrove::testing::TemporaryFolder folder_;
};

using Profiles = std::vector<std::string>;
const Profiles kMeasured(2, "measured"), kKept(2, "kept");

TEST(NodeProfiles, ASecondStartMeasuresNothing) {
  NodeProfileBoards boards;
  const InferJob job = small_job(kNodeProfileSamples, 2);
  EXPECT_EQ(boards.profiles(job), kMeasured);
  EXPECT_EQ(boards.profiles(job), kKept);
  EXPECT_EQ(boards.profiles(job, 3), (Profiles{"kept", "kept", "measured"})) << "a board that is new";
  InferJob larger = job;
  larger.set_micro_batch(6);
  EXPECT_EQ(boards.profiles(larger), kMeasured);
  InferJob unfused = job;
  unfused.set_unfused(true);
  EXPECT_EQ(boards.profiles(unfused), kMeasured);
  InferJob fresh = job;
  fresh.set_fresh(true);
  EXPECT_EQ(boards.profiles(fresh), kMeasured);
  EXPECT_EQ(boards.profiles(job), kKept);
}

TEST(NodeProfiles, ArePlannedWithAsTheyWereMeasured) {
  NodeProfileBoards boards;
  const InferJob job = small_job(kNodeProfileSamples, 2);
  // Each job calibrates all boards alike with its own run of the unsplit network, so only their ratio is the profiles'.
  const auto ratio_of_boards = [&] {
    const json devices = json::parse(boards.infer(job).result())["devices"];
    return devices[0]["predicted_images_per_s"].get<double>() / devices[1]["predicted_images_per_s"].get<double>();
  };
  const double measured = ratio_of_boards(), kept = ratio_of_boards();
  EXPECT_NEAR(kept, measured, 1e-3 * measured);
  const auto profile = plan::load_profile(boards.file(1));
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  ASSERT_EQ(profile->operators.size(), kSmallOperators);
  EXPECT_EQ(profile->data, "glyphs");
  EXPECT_GT(profile->read, 0);
  EXPECT_GT(profile->find("conv")->forward, 0);
  EXPECT_GE(profile->find("conv")->weights, 4 * 4 * 25);
  EXPECT_GE(profile->find("conv")->memory, 4 * 4 * 28 * 28);
}

TEST(NodeProfiles, OfOtherDataOnlyReadingIsMeasured) {
  NodeProfileBoards boards;
  InferJob job = small_job(kNodeProfileSamples, 2);
  boards.infer(job);
  const fs::path file = boards.file(1);
  const plan::Profile before = plan::load_profile(file).value();
  job.set_data("glyphs,balance=yes");
  EXPECT_EQ(boards.profiles(job), kKept);
  const plan::Profile after = plan::load_profile(file).value();
  EXPECT_EQ(after.data, "glyphs,balance=yes");
  EXPECT_EQ(after.find("conv")->forward, before.find("conv")->forward);
}

TEST(NodeProfiles, ADamagedOneIsMeasuredAnew) {
  NodeProfileBoards boards;
  const InferJob job = small_job(kNodeProfileSamples, 2);
  boards.infer(job);
  for (const std::string& content :
       {std::string(), std::string("profile:\n  batch: 4\noperator conv:\n  forward: 1ms\n")}) {
    std::ofstream(boards.file(2), std::ios::binary) << content;
    EXPECT_EQ(boards.profiles(job), (Profiles{"kept", "measured"}));
    EXPECT_EQ(boards.profiles(job), kKept);
  }
}

TEST(StageMemory, IsForetoldAndMeasured) {
  NodeProfileBoards boards;
  for (int start = 0; start < 2; ++start) {
    const json result = json::parse(boards.infer(small_job(kNodeProfileSamples, 2)).result());
    for (const json& stage : result["stages"]) {
      EXPECT_GT(stage["rss_bytes"], 1'000'000);
      EXPECT_GT(stage["predicted_rss_bytes"], 1'000'000);
    }
  }
}

}  // namespace
}  // namespace mangrove::infer
