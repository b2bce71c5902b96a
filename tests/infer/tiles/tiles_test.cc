#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/infer/tiles/tile_job.h"
#include "tests/infer/watched_endpoint.h"

#include "mangrove/graph/onnx.h"
#include "mangrove/infer/job_settings.h"
#include "mangrove/infer/networks.h"
#include "mangrove/infer/strategy.h"
#include "mangrove/infer/tags.h"
#include "mangrove/net/payload.h"

namespace mangrove::infer {
namespace {

using nlohmann::json;

constexpr std::int64_t kTilesSamples = 30;
constexpr const char* kEven = "even_grid";
constexpr const char* kStrips = "biased_strips";

json result_of_run(const RoleWorld::Outcome& outcome) {
  return json::parse(outcome.result());
}

TEST(Tiles, AnswersAreThoseOfOneNode) {
  for (const char* tiling : {"auto", kEven, kStrips}) {
    for (const int nodes : {1, 2, 3, 4, 5}) {
      const std::string where = std::string(tiling) + " on " + std::to_string(nodes);
      const RoleWorld::Outcome outcome = infer(tiles_job(kTilesSamples, tiling), nodes);
      expect_exact(outcome, kTilesSamples, where);
      ASSERT_TRUE(outcome.leader.ok());
      const json result = result_of_run(outcome);
      EXPECT_EQ(result["strategy"], "tiles");
      EXPECT_GT(result["latency_speedup"], 0.0);
      if (tiling == kEven && nodes == 4) {
        ASSERT_EQ(result["teams"].size(), 1u);
        EXPECT_EQ(result["teams"][0]["blocks"][0]["tiles"].size(), 4u) << result.dump(2);
        EXPECT_GT(result["activations"]["sent_bytes"], 0);
      }
    }
  }
}

TEST(Tiles, OfOneSampleAndOfMany) {
  for (const std::int64_t micro_batch : {1, 7, 64}) {
    for (const char* tiling : {kEven, kStrips}) {
      InferJob job = tiles_job(kTilesSamples, tiling);
      job.set_micro_batch(micro_batch);
      expect_exact(infer(job, 3), kTilesSamples, std::to_string(micro_batch));
    }
  }
}

TEST(Tiles, AnswersHardlyChangeWithFewerBytes) {
  InferJob job = tiles_job(kTilesSamples, kStrips);
  const json plain = result_of_run(infer(job, 3));
  for (const char* encoding : {"fp16", "int8"}) {
    job.set_activations(encoding);
    const json result = result_of_run(infer(job, 3));
    EXPECT_GT(result["agreement"], 0.9) << encoding;
    EXPECT_LT(result["activations"]["sent_bytes"], plain["activations"]["sent_bytes"]) << encoding;
    EXPECT_GT(result["activations"]["saved_bytes"], 0) << encoding;
  }
}

TEST(Tiles, ForTheThroughputTeamsAreTogetherNoSlowerThanTheFastestNode) {
  InferJob job = tiles_job(kTilesSamples, "auto");
  job.set_objective("throughput");
  const RoleWorld::Outcome outcome = infer(job, 4);
  expect_exact(outcome, kTilesSamples, "throughput");
  const json result = result_of_run(outcome);
  double fastest = 0;
  for (const json& node : result["tile_nodes"])
    fastest = std::max(fastest, node["predicted_images_per_s"].get<double>());
  EXPECT_GE(result["predicted_images_per_s"], 0.99 * fastest) << result.dump(2);
}

TEST(Tiles, RefusesKeysThatMakeNoSense) {
  const auto error_of = [](auto change) {
    InferJob job = tiles_job(kTilesSamples, "auto");
    change(job);
    const RoleWorld::Outcome outcome = infer(job, 2);
    return outcome.leader.ok() ? "" : outcome.leader.error().message;
  };
  EXPECT_EQ(error_of([](InferJob& job) { job.set_objective("speed"); }),
            "objective: 'speed' is neither latency nor throughput");
  EXPECT_NE(error_of([](InferJob& job) { job.set_tiling("even_gird"); }).find("did you mean 'even_grid'"),
            std::string::npos);
  EXPECT_NE(error_of([](InferJob& job) { job.set_trust("spot_checks=0.1"); }).find("'pipeline'"), std::string::npos);
}

/// The number of the last message of rank 1.
int messages_of_a_run(const char* tiling) {
  RoleWorld world(4);
  const RoleWorld::Outcome outcome = infer(tiles_job(kTilesSamples, tiling), world);
  return outcome.sent[1];
}

TEST(TilesFaults, ANodeLostAtAnyOfItsMessagesLosesNoImage) {
  for (const char* tiling : {kEven, kStrips}) {
    const int all = messages_of_a_run(tiling);
    ASSERT_GT(all, 10);
    bool is_retiled = false;
    for (int k = 0; k < all; k += 1 + k / 12) {
      RoleWorld world(4);
      world.die({.rank = 1, .at_send = k});
      const RoleWorld::Outcome outcome = infer(tiles_job(kTilesSamples, tiling), world);
      expect_exact(outcome, kTilesSamples, std::string(tiling) + ", message " + std::to_string(k));
      is_retiled = is_retiled || outcome.has_event(R"("event":"retiled")");
    }
    EXPECT_TRUE(is_retiled);
  }
}

TEST(TilesFaults, TwoOfFourNodesLost) {
  for (int k = 4; k < 24; k += 4) {
    RoleWorld world(5);
    world.die({.rank = 2, .at_send = k});
    world.die({.rank = 4, .at_send = k + 3});
    expect_exact(infer(tiles_job(kTilesSamples, kEven), world), kTilesSamples, std::to_string(k));
  }
}

TEST(TilesFaults, AnyLostPieceIsMadeGoodBySendingAgain) {
  InferJob job = tiles_job(8, kStrips);
  job.set_answer_timeout_s(0.25);
  for (int k = 0;; k += 1 + k / 8) {
    RoleWorld world(3);
    int pieces = 0;  // guarded by the world's lock
    world.world().set_loss([&](net::Rank, net::Rank, net::Tag tag) { return tag == kActivationTag && pieces++ == k; });
    const RoleWorld::Outcome outcome = infer(job, world);
    if (pieces <= k) break;
    expect_exact(outcome, 8, "piece " + std::to_string(k));
  }
}

/// A rank whose pieces never arrive. says: it answers questions about micro-batches.
Status run_mute(const InferJob& job, job::RoleContext& context, bool says) {
  WatchedEndpoint endpoint(context.endpoint);
  endpoint.on_send = [says](net::Rank, net::Tag tag, std::string& payload) {
    FromNode message;
    const bool is_status = tag == kFromNodeTag && message.ParseFromString(payload) && message.has_tile_status();
    if (tag == kActivationTag || (!says && is_status)) payload = "x";
  };
  job::RoleContext muted = with_endpoint(context, endpoint);
  return run_inference(job, muted);
}

RoleWorld::Outcome infer_with_mute(bool says) {
  InferJob job = tiles_job(kTilesSamples, kEven);
  job.set_answer_timeout_s(0.3);
  RoleWorld world(4);
  world.replace(2, [of_nodes = without_networks(job), says](job::RoleContext& context) {
    return run_mute(of_nodes, context, says);
  });
  return infer(job, world);
}

TEST(TilesFaults, ANodeThatIsSilentIsLeftOut) {
  const RoleWorld::Outcome outcome = infer_with_mute(false);
  expect_exact(outcome, kTilesSamples, "silent");
  EXPECT_TRUE(outcome.has_event(R"("event":"node_left_out")"));
}

TEST(TilesFaults, IfNobodyIsToBlameOneNodeGetsAll) {
  const RoleWorld::Outcome outcome = infer_with_mute(true);
  expect_exact(outcome, kTilesSamples, "lost pieces");
  EXPECT_FALSE(outcome.has_event(R"("event":"node_left_out")"));
  EXPECT_TRUE(outcome.has_event(R"("why":"overdue")"));
  const json result = result_of_run(outcome);
  for (const json& block : result["teams"][0]["blocks"]) EXPECT_EQ(block["tiles"].size(), 1u);
}

TEST(TilesFaults, IfNothingEverComesBackTheJobEnds) {
  InferJob job = tiles_job(kTilesSamples, kEven);
  job.set_baseline(kNoBaseline);  // it needs none of the lost messages, but more time than this on a slow machine
  job.set_answer_timeout_s(0.2);
  RoleWorld world(3);
  world.world().set_loss([](net::Rank, net::Rank, net::Tag tag) { return tag == kActivationTag; });
  for (const net::Rank rank : {1, 2}) {
    world.replace(rank, [of_nodes = without_networks(job)](job::RoleContext& context) {
      WatchedEndpoint endpoint(context.endpoint);
      endpoint.on_send = [](net::Rank, net::Tag tag, std::string& payload) {
        FromNode message;
        if (tag == kFromNodeTag && message.ParseFromString(payload) && message.has_predictions()) payload = "x";
      };
      job::RoleContext lost = with_endpoint(context, endpoint);
      return run_inference(of_nodes, lost);
    });
  }
  const RoleWorld::Outcome outcome = infer(job, world);
  ASSERT_FALSE(outcome.leader.ok());
  EXPECT_EQ(outcome.leader.code(), Code::unavailable);
  EXPECT_NE(outcome.leader.error().message.find("no micro-batch was answered"), std::string::npos)
      << outcome.leader.error().message;
}

TEST(Tiles, OfANetworkWithoutMapsAreOneNodesWork) {
  InferJob job = small_job(kTilesSamples, 0);
  job.set_model(encode_onnx(skipping_graph()));
  job.set_strategy("tiles");
  const RoleWorld::Outcome outcome = infer(job, 3);
  expect_exact(outcome, kTilesSamples, "mlp");
  const json result = result_of_run(outcome);
  for (const json& block : result["teams"][0]["blocks"]) EXPECT_EQ(block["tiles"].size(), 1u);
}

TEST(TilesFaults, GarbageBetweenNodesIsIgnored) {
  InferJob job = tiles_job(kTilesSamples, kEven);
  job.set_answer_timeout_s(0.3);
  RoleWorld world(4);
  world.replace(3, [of_nodes = without_networks(job)](job::RoleContext& context) {
    for (int i = 0; i < 200; ++i) {
      TilePiece header;
      header.set_generation(1);
      header.set_micro_batch(static_cast<std::uint64_t>(i));
      header.set_count(i % 3 == 0 ? 1'000'000'000 : 4);
      header.set_block(i % 2 == 0 ? 1 : 0xffffffff);
      for (int truth = 0; truth < i; ++truth) header.add_truths(truth);
      context.endpoint.send(1, kActivationTag, net::begin_payload(header.SerializeAsString(), 0) + "nonsense");
      context.endpoint.send(2, kActivationTag, std::string(static_cast<std::size_t>(i), 'x'));
    }
    return run_inference(of_nodes, context);
  });
  expect_exact(infer(job, world), kTilesSamples, "garbage");
}

}  // namespace
}  // namespace mangrove::infer
