#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/base/sanitizer.h"
#include "tests/train/training_job.h"

#include "mangrove/codec/codec.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/learn/replica.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/compression/downlink_codec.h"
#include "mangrove/train/compression/uplink_codec.h"
#include "mangrove/train/job_settings.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {
namespace {

/// Two epochs on glyphs with a codec for both directions.
TrainJob coded_job(const std::string& uplink, const std::string& downlink) {
  TrainJob job = small_job(150);
  job.set_epochs(2);
  job.set_optimizer("sgd");
  job.set_codec(uplink);
  job.set_downlink_codec(downlink);
  return job;
}

TEST(UplinkDownlink, NoneIsBitEqualToNoCodec) {
  const auto plain = trained_parameters(train(coded_job("", ""), 3));
  EXPECT_EQ(trained_parameters(train(coded_job("none", "none"), 3)), plain);
}

// Codecs that keep all elements, most of them rounded.
TEST(UplinkDownlink, FineCodecsTrainAsNoneDoes) {
  MG_SKIP_IF_SANITIZED("what is learnt does not depend on a sanitizer");
  for (const Graph& graph : {small_graph(), normalized_graph()}) {
    for (const char* consistency : {"sync", "async"}) {
      for (const char* strategy : {"parameter_server", "federated"}) {
        const int workers = std::string(consistency) == "sync" ? 3 : 1;  // else results depend on who is first
        const auto trained = [&](const char* uplink, const char* downlink) {
          TrainJob job = coded_job(uplink, downlink);
          job.set_model(encode_onnx(graph));
          job.set_strategy(strategy);
          job.set_consistency(consistency);
          job.set_local_steps(2);
          job.set_limit(144);  // whole batches: normalization over two samples would make much of every rounding
          const RoleWorld::Outcome outcome = train(job, workers);
          EXPECT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
          return trained_parameters(outcome);
        };
        const auto plain = trained("none", "none"), start = learn::flat_parameters(graph);
        const double way = relative_difference(start, plain);
        for (const auto& [uplink, downlink, bound] : {std::tuple{"top_k(1)", "none", 1e-4},
                                                      {"none", "top_k(1)", 1e-4},
                                                      {"fp16", "fp16", 5e-3},
                                                      {"int8", "int8", 5e-2}}) {
          EXPECT_LT(relative_difference(trained(uplink, downlink), plain), bound * way)
              << graph.name() << ", " << strategy << " " << consistency << ", " << uplink << " and " << downlink;
        }
      }
    }
  }
}

TEST(UplinkDownlink, EveryCodecThatFitsLearns) {
  MG_SKIP_IF_SANITIZED("what is learnt does not depend on a sanitizer");
  TrainJob job = small_job(1000);
  job.set_epochs(8);
  job.set_learning_rate(0.05f);
  const double plain = json_number(train(job, 3).result(), "accuracy");
  ASSERT_GT(plain, 0.7);
  for (const codec::CodecRow& row : codec::codecs()) {
    if (row.name == "threshold") continue;  // needs a threshold that fits the gradients
    TrainJob coded = job;
    coded.set_codec(std::string(row.name));
    if (row.name == "structured_mask") coded.set_codec("structured_mask(0.3)");  // else 16 steps late, and too far
    const bool is_far = row.name == "dgc" || row.name == "two_step" || row.name == "top_k" || row.name == "random_k";
    if (is_far) coded.set_codec(std::string(row.name) + (row.is_unbiased ? "(0.3)" : "(0.05)"));
    const bool is_coarse = row.name == "sign";  // a bit each way learns slower than the test has time for
    if (row.is_contraction && !is_coarse) coded.set_downlink_codec(coded.codec());
    const RoleWorld::Outcome outcome = train(coded, 3);
    ASSERT_TRUE(outcome.leader.ok()) << row.name << ": " << outcome.leader.error().message;
    EXPECT_GT(json_number(outcome.result(), "accuracy"), plain - 0.08) << row.name;
  }
}

TEST(UplinkDownlink, TwoRunsAreBitEqual) {
  const TrainJob job = coded_job("qsgd", "two_step(0.1)");
  EXPECT_EQ(trained_parameters(train(job, 3)), trained_parameters(train(job, 3)));
}

TEST(UplinkDownlink, BytesOfBothDirectionsAreTold) {
  TrainJob job = coded_job("two_step(0.01)", "two_step(0.01)");
  const RoleWorld::Outcome outcome = train(job, 3);
  const auto exchange = nlohmann::json::parse(outcome.result())["exchange"];
  const std::int64_t steps = 2 * 7,
                     floats = 4 * static_cast<std::int64_t>(learn::flat_parameters(small_graph()).size());
  for (const char* direction : {"uplink", "downlink"}) {
    EXPECT_EQ(exchange[direction]["messages"], 3 * steps) << direction;
    EXPECT_EQ(exchange[direction]["float_bytes"], exchange[direction]["messages"].get<std::int64_t>() * floats);
    EXPECT_GT(exchange[direction]["compression"], 100) << direction;
    EXPECT_GT(exchange[direction]["bytes"], 3 * steps * 50) << direction;
  }
}

// A uplink codec alone leaves the values as they are.
TEST(UplinkDownlink, StatesComeWithOrWithoutCodecs) {
  TrainJob job = coded_job("none", "none");
  job.set_model(encode_onnx(normalized_graph()));
  const auto states = [](const RoleWorld::Outcome& outcome) {
    return learn::flat_states(parse_onnx(outcome.last("result").attachment).value());
  };
  const auto plain = states(train(job, 3));
  job.set_codec("fp16");
  EXPECT_LT(relative_difference(states(train(job, 3)), plain), 0.01);
  job.set_downlink_codec("fp16");  // each worker's own are averaged in the end
  EXPECT_LT(relative_difference(states(train(job, 3)), plain), 0.1);
}

// Whoever lies is as good as silent; the others train on.
TEST(UplinkDownlink, GarbageIsNoUpdate) {
  for (const char* codec : {"two_step(0.01)", "int8", "dgc"}) {
    TrainJob job = coded_job(codec, "none");
    job.set_step_timeout_s(20);
    RoleWorld world(4);
    world.use_virtual_time();
    world.cancel_at_end();
    world.replace(2, idle_worker(150));  // as many bytes as floats have, none of them a message
    const RoleWorld::Outcome outcome = train(job, world);
    expect_complete(outcome, job, codec);
    EXPECT_TRUE(outcome.has_event("work_reassigned")) << codec;
  }
}

std::vector<float> values_of(const DownlinkDecoder& receiver, std::size_t count) {
  std::vector<float> values(count);
  receiver.read_values(values);
  return values;
}

TEST(DownlinkEncoder, WhoMissedAMessageGetsAllValues) {
  TrainJob job = small_job(8);
  job.set_downlink_codec("top_k(0.5)");
  const Graph graph = small_graph();
  DownlinkEncoder sender(job, graph);
  DownlinkDecoder first(job, graph), second(job, graph);
  std::vector<float> values = learn::flat_parameters(graph);
  const auto send = [&](net::Rank to, std::int64_t version) {
    Work work;
    work.set_version(version);
    const std::string body = sender.body(to, work, values);
    return std::pair{work, body};
  };
  EXPECT_TRUE(send(1, 0).second.empty()) << "the job's model is there already";
  EXPECT_TRUE(send(2, 0).second.empty());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += static_cast<float>(i % 7) - 3;
  const auto [work, body] = send(1, 1);
  ASSERT_TRUE(first.take(work, body));
  EXPECT_EQ(send(2, 1).second, body) << "both have the same";
  for (float& value : values) value *= 1.5f;
  const auto [next, next_body] = send(2, 2);
  EXPECT_FALSE(second.take(next, next_body)) << "it missed one";
  EXPECT_FALSE(second.take(next, "garbage"));
  sender.forget(2);
  const auto [all, all_body] = send(2, 2);
  ASSERT_TRUE(second.take(all, all_body));
  const auto [third, third_body] = send(1, 2);
  ASSERT_TRUE(first.take(third, third_body));
  EXPECT_EQ(values_of(first, values.size()), values_of(second, values.size()))
      << "newcomers get the copy that the others have";
  const auto [last, last_body] = send(2, 3);
  EXPECT_EQ(send(1, 3).second, last_body);
}

TEST(DownlinkEncoder, NewcomersGetTheNewestCopy) {
  TrainJob job = small_job(8);
  job.set_downlink_codec("top_k(0.01)");
  const Graph graph = small_graph();
  DownlinkEncoder sender(job, graph);
  DownlinkDecoder newcomer(job, graph), second(job, graph);
  std::vector<float> values = learn::flat_parameters(graph);
  for (std::int64_t version = 0; version < 200; ++version) {
    Work work;
    work.set_version(version);
    if (version == 1) (void)sender.body(1, work, values);  // never again
    const std::string body = sender.body(2, work, values);
    ASSERT_TRUE(second.take(work, body));
    for (float& value : values) value += 0.01f;
    if (version + 1 < 200) continue;
    Work first_work;
    first_work.set_version(version);
    ASSERT_TRUE(newcomer.take(first_work, sender.body(3, first_work, values)));
  }
  EXPECT_EQ(values_of(newcomer, values.size()), values_of(second, values.size()));
}

TEST(DownlinkEncoder, CopiesComeToTheValuesThatStandStill) {
  TrainJob job = small_job(8);
  job.set_downlink_codec("two_step(0.05)");
  const Graph graph = small_graph();
  DownlinkEncoder sender(job, graph);
  DownlinkDecoder receiver(job, graph);
  std::vector<float> values = learn::flat_parameters(graph);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += static_cast<float>(i % 11) - 5;
  for (std::int64_t version = 1; version <= 200; ++version) {
    Work work;
    work.set_version(version);
    const std::string body = sender.body(1, work, values);
    ASSERT_TRUE(receiver.take(work, body));
  }
  EXPECT_LT(relative_difference(values_of(receiver, values.size()), values), 1e-3);
}

// Where training diverges, workers are to see it.
TEST(DownlinkEncoder, ValuesThatAreNoNumbersGoAsTheyAre) {
  TrainJob job = small_job(8);
  job.set_downlink_codec("int8");
  DownlinkEncoder sender(job, small_graph());
  DownlinkDecoder receiver(job, small_graph());
  std::vector<float> values = learn::flat_parameters(small_graph());
  values[3] = std::numeric_limits<float>::quiet_NaN();
  Work work;
  const std::string body = sender.body(1, work, values);
  ASSERT_TRUE(receiver.take(work, body));
  EXPECT_TRUE(std::isnan(values_of(receiver, values.size())[3]));
}

struct BadCodec {
  std::string strategy, codec, downlink;
  std::int64_t warmup;
  std::string message;
};

TEST(CheckCodecs, NamesTheKeyAndTheReason) {
  for (const BadCodec& bad : std::vector<BadCodec>{
           {"parameter_server", "top_q", "", 0, "codec: unknown codec 'top_q'"},
           {"parameter_server", "top_k(2)", "", 0, "codec: codec 'top_k': fraction must be"},
           {"parameter_server", "", "qsgd", 0, "downlink_codec: values are sent as differences"},
           {"all_reduce", "", "fp16", 0, "downlink_codec: strategy 'all_reduce' has no server"},
           {"federated", "dgc", "", 0, "codec: 'dgc' brings momentum along"},
           {"gossip", "terngrad", "", 0, "codec: gossip sends differences"},
           {"parameter_server", "int8", "", 5, "codec_warmup: codec 'int8' has no fraction"},
           {"all_reduce", "top_k", "", 5, "codec_warmup: is of what is sent to a server"},
           {"parameter_server", "top_k", "", -1, "codec_warmup: '-1' is not a whole number from 0 to 1,000,000,000"}}) {
    TrainJob job = small_job(8);
    job.set_strategy(bad.strategy);
    job.set_codec(bad.codec);
    job.set_downlink_codec(bad.downlink);
    job.set_codec_warmup(bad.warmup);
    const Status status = check_job(job);
    ASSERT_FALSE(status.ok()) << bad.message;
    EXPECT_EQ(status.error().message.find(bad.message), 0u) << status.error().message;
  }
}

}  // namespace
}  // namespace mangrove::train
