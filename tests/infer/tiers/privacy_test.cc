#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/infer/tiers/split_job.h"
#include "tests/infer/watched_endpoint.h"

#include "mangrove/data/dataset.h"
#include "mangrove/data/sha256.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/graph/split.h"
#include "mangrove/infer/networks.h"
#include "mangrove/infer/tags.h"
#include "mangrove/infer/tiers/checks.h"
#include "mangrove/infer/tiers/network.h"
#include "mangrove/infer/tiers/tiers.h"
#include "mangrove/net/payload.h"

namespace mangrove::infer {
namespace {

using nlohmann::json;

constexpr net::Rank kPrivacyEnd = 1, kPrivacyCloud = 2;
constexpr const char* kNoData = "idx:/nonexistent";

/// What a rank sends, and to whom; or, to kNobody, that it has looked for messages and there were no more.
constexpr net::Rank kNobody = -1;
struct Sent {
  net::Rank to;
  net::Tag tag;
  std::string payload;
};

struct Played {
  RoleWorld::Outcome outcome;
  std::map<net::Rank, std::vector<Sent>> sent;  // by sender
};

/// other_data: what nodes have in place of the job's data, by rank.
Played run_private_tiers(const InferJob& job, const std::map<net::Rank, std::string>& other_data = {}) {
  Played result;
  RoleWorld world(1 + job.tiers_size());
  world.use_virtual_time(0.001);
  world.cancel_at_end();
  for (net::Rank rank = 0; rank <= job.tiers_size(); ++rank) result.sent[rank];
  result.outcome = world.run([&](job::RoleContext& context) {
    std::vector<Sent>& sent = result.sent.at(context.endpoint.rank());
    WatchedEndpoint endpoint(context.endpoint);
    endpoint.on_send = [&](net::Rank to, net::Tag tag, const std::string& payload) {
      sent.push_back({to, tag, payload});
    };
    endpoint.on_receive = [&](const Result<net::Message>& message) {
      if (!message.ok()) sent.push_back({kNobody, 0, {}});
    };
    job::RoleContext watched = with_endpoint(context, endpoint);
    InferJob given = context.endpoint.rank() == 0 ? job : without_networks(job);
    const auto other = other_data.find(context.endpoint.rank());
    if (other != other_data.end()) given.set_data(other->second);
    return run_tiers(given, watched);
  });
  return result;
}

/// Classes and confidences of second answers, by first image.
std::map<std::int64_t, json> second_answers(const RoleWorld::Outcome& outcome) {
  std::map<std::int64_t, json> answers;
  for (const Report& report : outcome.of_kind("tier_answers")) {
    const json line = json::parse(report.json);
    if (line["answer"] == "second") answers[line["begin"]] = {line["classes"], line["confidences"]};
  }
  return answers;
}

json private_tier(const RoleWorld::Outcome& outcome, const std::string& name) {
  const json result = json::parse(outcome.result());
  for (const json& of : result["tiers"])
    if (of["tier"] == name) return of;
  return {};
}

TEST(TierPrivacy, AnswersEqualThoseOfTheUnsplitNetwork) {
  const Played plain = run_private_tiers(split_job(""));
  ASSERT_TRUE(plain.outcome.leader.ok()) << plain.outcome.leader.error().message;
  const auto expected = second_answers(plain.outcome);
  ASSERT_EQ(expected.size(), 8u);
  for (const char* layer : {"conv", "relu", "pool", "fc1"}) {
    const Played split = run_private_tiers(split_job(std::string("split@") + layer));
    ASSERT_TRUE(split.outcome.leader.ok()) << split.outcome.leader.error().message;
    EXPECT_EQ(second_answers(split.outcome), expected) << layer;
    EXPECT_EQ(private_tier(split.outcome, "cloud")["accuracy"], private_tier(plain.outcome, "cloud")["accuracy"])
        << layer;
    EXPECT_EQ(json_number(split.outcome.result(), "lost"), 0);
  }
}

/// Parts of a sample that nothing else looks like by chance: runs of pixels, as f32 and as bytes, of which some are
/// neither background nor alike.
std::vector<std::string> marks_of(std::span<const float> sample) {
  constexpr std::size_t kFloats = 4, kBytes = 16;
  std::vector<std::string> marks;
  for (std::size_t at = 0; at + kBytes <= sample.size(); ++at) {
    const auto pixels = sample.subspan(at, kFloats);
    std::set<float> floats(pixels.begin(), pixels.end());
    floats.erase(0.0f);
    if (floats.size() >= 2) net::append_floats(marks.emplace_back(), pixels);
    std::string bytes;
    for (const float pixel : sample.subspan(at, kBytes)) bytes += static_cast<char>(std::lround(255 * pixel));
    std::set<char> different(bytes.begin(), bytes.end());
    different.erase('\0');
    if (different.size() >= 4) marks.push_back(std::move(bytes));
  }
  return marks;
}

bool shows(const std::string& payload, const std::vector<std::string>& marks) {
  return std::ranges::any_of(marks, [&](const std::string& mark) { return payload.find(mark) != std::string::npos; });
}

TEST(TierPrivacy, NoMessageToADeviceThatIsNotTrustedHasASample) {
  const auto dataset = *data::open_dataset("glyphs", data::Split::test, {});
  std::vector<std::string> marks;
  std::vector<float> sample(784);
  std::string all;
  for (std::uint32_t i = 0; i < kSplitSamples; ++i) {
    ASSERT_TRUE(dataset->read(i, sample).ok());
    const std::vector<std::string> of_sample = marks_of(sample);
    marks.insert(marks.end(), of_sample.begin(), of_sample.end());
    net::append_floats(all, sample);
  }
  ASSERT_GT(marks.size(), 20u * kSplitSamples);
  ASSERT_TRUE(shows(all, marks)) << "they would be found";
  for (const char* privacy : {"split@conv", "split@pool,levels=16", "split@relu,noise=0.1", "split@pool,trained=n"}) {
    const InferJob job = split_job(privacy);
    const Played split = run_private_tiers(job);
    ASSERT_TRUE(split.outcome.leader.ok()) << split.outcome.leader.error().message;
    EXPECT_FALSE(without_networks(job).noise_seed() != 0 || without_networks(job).bottom_models_size() > 0);
    EXPECT_EQ(without_networks(job).noises_size(), 0);
    EXPECT_EQ(without_networks(job).SerializeAsString().find(",trained="), std::string::npos)
        << "whose file, and where";
    std::string weights;
    net::append_floats(weights, small_graph().initializers().at("wc").as<float>().first(8));
    ASSERT_NE(job.bottom_models(1).find(weights), std::string::npos);
    std::size_t tasks = 0;
    for (const auto& [from, sent] : split.sent) {
      for (const Sent& message : sent) {
        if (message.to != kPrivacyCloud) continue;
        EXPECT_EQ(from, 0) << "devices do not talk to each other";
        EXPECT_FALSE(shows(message.payload, marks)) << privacy;
        if (message.tag == kNetworkTag) {
          EXPECT_EQ(message.payload.find(weights), std::string::npos) << "the bottom model's weights";
        }
        Command command;
        if (message.tag != kCommandTag || !command.ParseFromString(message.payload)) continue;
        EXPECT_EQ(command.frames_size(), 0);
        if (command.kind() != Command::TASK) continue;
        ++tasks;
        EXPECT_EQ(std::ssize(command.values()),
                  command.count() * json(private_tier(split.outcome, "cloud"))["bytes_per_image"].get<std::int64_t>());
      }
    }
    EXPECT_GE(tasks, 8u);
    for (const Sent& message : split.sent.at(0)) {
      Command command;
      if (message.to == kPrivacyEnd && message.tag == kCommandTag && command.ParseFromString(message.payload)) {
        EXPECT_TRUE(command.values().empty()) << "a trusted device reads its samples itself";
      }
    }
  }
}

TEST(TierPrivacy, ADeviceGetsTheNetworkOfItsTierOnly) {
  const InferJob job = split_job("split@conv");  // the trusted tier's network has the bottom model's weights
  RoleWorld world(3);
  world.use_virtual_time(0.001);
  world.cancel_at_end();
  std::map<std::string, Result<std::string>> got;
  world.replace(kPrivacyCloud, [&](job::RoleContext& context) -> Status {
    NetworkFetch fetch(context, 1);
    got.emplace("too early", fetch.get(data::sha256(job.members(1))));
    FromNode message;
    message.mutable_hello()->set_without_data(true);
    context.endpoint.send(0, kFromNodeTag, message.SerializeAsString());
    MG_RETURN_IF_ERROR(context.endpoint.recv({0}, kCommandTag, context.clock.after(10)));  // it is of a tier
    got.emplace("another's", fetch.get(data::sha256(job.members(0))));
    got.emplace("its own", fetch.get(data::sha256(job.members(1))));
    return make_error(Code::internal, "it knows enough");
  });
  const RoleWorld::Outcome outcome = infer(job, world);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  ASSERT_EQ(got.size(), 3u);
  for (const char* refused : {"too early", "another's"}) {
    ASSERT_FALSE(got.at(refused).ok()) << refused;
    EXPECT_EQ(got.at(refused).code(), Code::permission_denied) << refused;
  }
  EXPECT_TRUE(got.at("its own").ok() && *got.at("its own") == job.members(1));
}

TEST(TierPrivacy, ADeviceThatIsNotTrustedNeedsNoSamples) {
  const auto expected = second_answers(run_private_tiers(split_job("")).outcome);
  const Played split = run_private_tiers(split_job("split@relu"), {{kPrivacyCloud, kNoData}});
  ASSERT_TRUE(split.outcome.leader.ok()) << split.outcome.leader.error().message;
  EXPECT_EQ(second_answers(split.outcome), expected);
  EXPECT_EQ(json_number(split.outcome.result(), "lost"), 0);
  EXPECT_GT(private_tier(split.outcome, "cloud")["accuracy"], 0.0) << "the leader knows the labels";
  for (const Sent& message : split.sent.at(kPrivacyCloud)) {
    FromNode said;
    ASSERT_TRUE(said.ParseFromString(message.payload));
    if (said.has_tier_answer()) {
      EXPECT_EQ(said.tier_answer().truths_size(), 0);
    }
  }
}

TEST(TierPrivacy, ADeviceWithOtherSamplesIsPlacedWhereItNeedsNone) {
  const auto expected = second_answers(run_private_tiers(split_job("")).outcome);
  for (const char* data : {kNoData, "glyphs,labels=coarse"}) {
    for (const net::Rank rank : {kPrivacyEnd, kPrivacyCloud}) {
      const Played split = run_private_tiers(split_job("split@relu"), {{rank, data}});
      ASSERT_TRUE(split.outcome.leader.ok()) << split.outcome.leader.error().message;
      EXPECT_FALSE(split.outcome.has_event("node_left_out")) << data << ", rank " << rank;
      EXPECT_EQ(second_answers(split.outcome), expected) << data << ", rank " << rank;
      EXPECT_EQ(private_tier(split.outcome, "end")["tasks"], 8);
      EXPECT_EQ(private_tier(split.outcome, "cloud")["tasks"], 8);
      const json result = json::parse(split.outcome.result());
      EXPECT_EQ(result["devices"][static_cast<std::size_t>(rank - 1)]["tier"], "cloud") << data;
    }
  }
}

TEST(TierPrivacy, ADeviceWithoutSamplesIsLeftOutWhereAllOthersNeedThem) {
  const Played split = run_private_tiers(split_job("split@relu"), {{kPrivacyEnd, kNoData}, {kPrivacyCloud, kNoData}});
  ASSERT_TRUE(split.outcome.leader.ok()) << split.outcome.leader.error().message;
  EXPECT_TRUE(split.outcome.has_event("it does not have the coordinator's data set 'glyphs'"));
  EXPECT_EQ(json_number(split.outcome.result(), "lost"), 0) << "the cloud does its tasks";
}

TEST(TierPrivacy, NoiseAndFewLevelsChangeAnswersTheSameEachTime) {
  for (const char* privacy : {"split@relu,noise=3", "split@relu,levels=2", "split@pool,trained=n"}) {
    const auto plain = second_answers(run_private_tiers(split_job("split@relu")).outcome);
    const Played noisy = run_private_tiers(split_job(privacy));
    const auto hidden = second_answers(noisy.outcome);
    EXPECT_EQ(hidden.size(), 8u) << "all tasks";
    EXPECT_EQ(json_number(noisy.outcome.result(), "lost"), 0);
    EXPECT_NE(hidden, plain) << privacy;
    EXPECT_EQ(second_answers(run_private_tiers(split_job(privacy)).outcome), hidden) << privacy;
  }
}

/// Of which each answer depends on the range of the whole batch.
Graph ranging_graph() {
  GraphParts parts;
  parts.name = "ranging";
  parts.inputs = {{"input", {DType::f32, {kBatch, 1, 2, 3}}}};
  parts.outputs = {"logits"};
  parts.nodes = {{"quantize", "DynamicQuantizeLinear", {}, {"input"}, {"y", "scale", "zero"}},
                 {"dequantize", "DequantizeLinear", {}, {"y", "scale", "zero"}, {"x"}},
                 {"flatten", "Flatten", {}, {"x"}, {"f"}},
                 {"fc", "Gemm", {{"transB", std::int64_t{1}}}, {"f", "w"}, {"logits"}}};
  parts.initializers = {{"w", random_tensor({10, 6}, 1, 1)}};
  return Graph::create(std::move(parts)).value();
}

TEST(TierPrivacy, AnAnswerDoesNotDependOnTheTaskBefore) {
  InferJob job = split_job("split@pool");
  job.set_micro_batch(4);
  const auto task = [](std::int64_t count, float size) {
    Command command;
    command.set_count(count);
    for (std::int64_t i = 0; i < 6 * count; ++i)
      net::append_floats(*command.mutable_values(), std::array{size * static_cast<float>(i % 5 - 2)});
    return command;
  };
  const auto answers = [&](const std::vector<Command>& tasks) {
    auto network =
        make_tier_network(ranging_graph(), job, 1, Answer::second, {.micro_batch = job.micro_batch()}).value();
    TierAnswer last;
    for (const Command& each : tasks) last = network->answer(each, {.images = {}, .labels = {}, .count = 4}).value();
    return std::vector<float>(last.confidences().begin(), last.confidences().end());
  };
  const std::vector<float> alone = answers({task(1, 1)});
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_NE(answers({task(2, 100)}).front(), alone.front()) << "else the test shows less than it says";
  EXPECT_EQ(answers({task(4, 100), task(1, 1)}), alone);
}

TEST(TierPrivacy, ADeviceThatDiesLosesNoImage) {
  InferJob job = split_job("split@pool");
  job.set_policy("hedged");
  for (int k = 2; k < 10; k += 3) {
    RoleWorld world(3);
    world.use_virtual_time(0.001);
    world.cancel_at_end();
    world.die({.rank = kPrivacyCloud, .at_send = k});
    const RoleWorld::Outcome outcome = infer(job, world);
    ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
    EXPECT_EQ(json_number(outcome.result(), "lost"), 0);
    EXPECT_EQ(json_number(outcome.result(), "duplicated"), 0);
  }
}

TEST(TierPrivacy, AllThatHasComeIsTakenBeforeEachHead) {
  InferJob job = split_job("split@conv");
  job.mutable_tiers(1)->set_delay_s(1);  // several tasks are given out at once
  const Played split = run_private_tiers(job);
  ASSERT_TRUE(split.outcome.leader.ok()) << split.outcome.leader.error().message;
  int tasks = 0;
  bool has_looked = true;
  for (const Sent& message : split.sent.at(0)) {
    Command command;
    has_looked = has_looked || message.to == kNobody;
    if (message.to != kPrivacyCloud || message.tag != kCommandTag || !command.ParseFromString(message.payload))
      continue;
    if (command.kind() != Command::TASK || command.request() > 0) continue;
    EXPECT_TRUE(has_looked) << "task " << tasks;
    has_looked = false;
    ++tasks;
  }
  EXPECT_EQ(tasks, 8);
  const json result = json::parse(split.outcome.result());
  EXPECT_GT(result["devices"][1]["window"], 8) << "all are on their way together";
  EXPECT_LT(result["seconds"], 2.0);
}

TEST(TierPrivacy, ChecksTheJob) {
  const auto refused = [](const std::function<void(InferJob&)>& change) {
    InferJob job = split_job("split@conv");
    change(job);
    const Status status = check_tiers(job);
    EXPECT_FALSE(status.ok());
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_TRUE(check_tiers(split_job("split@conv")).ok());
  EXPECT_NE(
      refused([](InferJob& job) { job.mutable_tiers(1)->clear_privacy(); }).find("tiers: cloud: privacy: expected"),
      std::string::npos);
  EXPECT_EQ(refused([](InferJob& job) { job.mutable_bottom_models()->RemoveLast(); }),
            "tiers: cloud: it is not trusted, and its network has no bottom model");
  EXPECT_TRUE(check_tiers(split_job("split@pool,trained=n")).ok());
  EXPECT_TRUE(refused([](InferJob& job) {
                job.mutable_tiers(1)->set_privacy("split@conv,trained=n");
              }).starts_with("tiers: cloud: privacy: trained=n: "))
      << "no file came with it";
  const Status no_fit = check_tiers(split_job("split@conv,trained=n"));
  ASSERT_FALSE(no_fit.ok());
  EXPECT_EQ(no_fit.error().message, "tiers: cloud: privacy: trained=n: no noise for layer 'conv', only for 'pool'");
  InferJob other_bottom = split_job("split@conv");
  *other_bottom.mutable_bottom_models(1) = encode_onnx(split_behind(small_graph(), "pool")->front);
  EXPECT_FALSE(run_private_tiers(other_bottom).outcome.leader.ok()) << "a bottom model and a rest of two cuts";
}

TEST(TierPrivacy, WhatDoesNotFitIntoAMessageIsRefusedAtTheStart) {
  const auto job_of = [](std::int64_t micro_batch, std::int64_t limit, const std::string& privacy) {
    InferJob job = split_job(privacy);
    job.set_micro_batch(micro_batch);
    job.set_limit(limit);
    return job;
  };
  const Status status = check_tiers(job_of(20'000, 0, "split@conv"));  // 4 * 24 * 24 values of 4 bytes each
  ASSERT_EQ(status.code(), Code::invalid_argument);
  EXPECT_EQ(status.error().message,
            "tiers: cloud: privacy: split@conv sends 9.22 kB for an image, and 184 MB with a task of 20000; the most "
            "is 64.0 MB: take fewer images (micro_batch), levels, or a layer with fewer values");
  EXPECT_EQ(run_private_tiers(job_of(20'000, 0, "split@conv")).outcome.leader.code(), Code::invalid_argument);
  EXPECT_TRUE(check_tiers(job_of(6944, 0, "split@conv")).ok());
  EXPECT_FALSE(check_tiers(job_of(6945, 0, "split@conv")).ok());
  EXPECT_TRUE(check_tiers(job_of(20'000, 0, "split@pool")).ok());
  EXPECT_TRUE(check_tiers(job_of(20'000, 0, "split@conv,levels=4")).ok());
  EXPECT_TRUE(check_tiers(job_of(20'000, kSplitSamples, "split@conv")).ok())
      << "no task has more images than there are";
}

}  // namespace
}  // namespace mangrove::infer
