// Devices that answer wrongly are found, and their answers are done again.
#include "mangrove/infer/pipeline/trust.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/infer/inference_job.h"
#include "tests/infer/watched_endpoint.h"
#include "tests/job/still_device.h"

#include "mangrove/base/random.h"
#include "mangrove/data/image.h"
#include "mangrove/infer/job_settings.h"
#include "mangrove/infer/leader.h"
#include "mangrove/infer/pipeline/dataset_work.h"
#include "mangrove/infer/pipeline/frame_work.h"
#include "mangrove/infer/strategy.h"
#include "mangrove/infer/tags.h"
#include "mangrove/net/payload.h"

namespace mangrove::infer {
namespace {

using nlohmann::json;

constexpr std::int64_t kTrustSamples = 1200;  // in micro-batches of 4
constexpr int kNodes = 4;

InferJob checked_job(int stages) {
  InferJob job = small_job(kTrustSamples, stages);
  job.set_trust("spot_checks=0.02");
  return job;
}

/// What a node makes of a message that it sends.
using Change = std::function<void(net::Tag tag, std::string& payload)>;

/// Changes the answers in it, if it has some.
Change of_answers(std::function<void(Predictions&)> change) {
  return [change = std::move(change)](net::Tag tag, std::string& payload) {
    FromNode message;
    if (tag != kFromNodeTag || !message.ParseFromString(payload) || !message.has_predictions()) return;
    change(*message.mutable_predictions());
    payload = message.SerializeAsString();
  };
}

void shift_classes(Predictions& predictions) {
  for (std::int32_t& c : *predictions.mutable_classes()) c = (c + 1) % 10;
}

/// Half of the answers, or of the values for the next stage, are wrong.
Change lies() {
  return [random = Random(3)](net::Tag tag, std::string& payload) mutable {
    FromNode message;
    const bool has_answer = tag == kFromNodeTag && message.ParseFromString(payload) && message.has_predictions();
    if ((!has_answer && tag != kActivationTag) || random.uniform() < 0.5) return;
    if (has_answer) return of_answers(shift_classes)(tag, payload);
    const net::PayloadParts parts = net::split_payload(payload).value();
    std::string forged = net::begin_payload(parts.header, parts.body.size());
    net::append_floats(forged, std::vector<float>(parts.body.size() / sizeof(float), 1.0f));
    payload = std::move(forged);
  };
}

/// A device in virtual time, on which each stage takes so long for a micro-batch.
class SlowDevice final : public job::StillDevice {
 public:
  SlowDevice(job::RoleContext& context, Seconds seconds) : context_(context), seconds_(seconds) {}
  void charge(double) override {
    constexpr net::Tag kNobodySends = 99;
    (void)context_.endpoint.recv({0}, kNobodySends, context_.clock.after(seconds_));
  }

 private:
  job::RoleContext& context_;
  const Seconds seconds_;
};

/// Plays a node that changes its messages, and takes so long for each stage and micro-batch.
Status play_node(const InferJob& job, job::RoleContext& context, const Change& change, Seconds seconds) {
  WatchedEndpoint endpoint(context.endpoint);
  if (change) endpoint.on_send = [&](net::Rank, net::Tag tag, std::string& payload) { change(tag, payload); };
  job::RoleContext own = with_endpoint(context, endpoint);
  if (seconds <= 0) return run_inference(job, own);
  SlowDevice device(own, seconds);
  job::RoleContext slow{own.endpoint, own.clock, device, own.data_folder, own.threads, own.stop, own.report};
  return run_inference(job, slow);
}

/// One stage on all nodes, two stages on two nodes each, or three stages on one node each.
StagePlan trusted_plan(const Graph& graph, const InferJob& job) {
  const DeviceProfile device{
      .rank = 1, .name = "", .host = "host", .cores = 4, .operator_seconds = {4, 1, 1, 1, 3, 1, 3}};
  if (job.stages() == 1) return Replanner(graph, {device}, job).whole_on_each({1, 2, 3, 4});
  if (job.stages() == 3) {
    std::vector<DeviceProfile> devices = {device, device, device};
    for (net::Rank rank = 1; rank <= 3; ++rank) devices[static_cast<std::size_t>(rank - 1)].rank = rank;
    return plan_stages(graph, devices, job).value();
  }
  std::vector<DeviceProfile> devices = {device, device};
  devices.back().rank = 3;
  StagePlan plan = plan_stages(graph, devices, job).value();
  for (StagePlan::Stage& stage : plan.stages)
    stage.replicas.push_back({stage.replicas.front().rank + 1, stage.replicas.front().busy});
  return plan;
}

struct Checked {
  RoleWorld::Outcome outcome;
  Answers answers;
  TrustReport trust;
  Seconds seconds = 0;
};

using MakeWork = std::function<std::unique_ptr<StreamWork>(const Hello& data, Reports& reports)>;

MakeWork dataset_work(const InferJob& job) {
  return [&job](const Hello& data, Reports& reports) { return std::make_unique<DatasetWork>(job, data, 6, reports); };
}

/// How the nodes play. Without known answers copies are compared.
struct Play {
  std::map<net::Rank, Change> changes{};
  std::map<net::Rank, Seconds> seconds{};  // for each stage and micro-batch, in virtual time
  double share = 0.02;                     // of the micro-batches that are checked
  net::Rank known_by = 0;                  // who has given the known answers
  std::vector<std::int32_t> known{};       // none: there are none
};

Checked trusted_stream(RoleWorld& world, const InferJob& job, const Play& play, const MakeWork& make_work) {
  Checked checked;
  for (net::Rank rank = 1; rank <= kNodes; ++rank)
    world.replace(rank, [&, rank](job::RoleContext& context) {
      const auto change = play.changes.find(rank);
      const auto seconds = play.seconds.find(rank);
      return play_node(job, context, change == play.changes.end() ? Change() : change->second,
                       seconds == play.seconds.end() ? 0 : seconds->second);
    });
  checked.outcome = world.run([&](job::RoleContext& context) {
    return lead_nodes(job, context, [&](NodeRoster& nodes, Reports& reports) -> Status {
      const Graph graph = small_graph();
      MG_TRY(const Hello data, nodes.gather());
      Replanner replanner(graph, {{.rank = 1, .name = "", .host = "host", .operator_seconds = {4, 1, 1, 1, 3, 1, 3}}},
                          job);
      const std::unique_ptr<StreamWork> work = make_work(data, reports);
      SpotChecks checks({.share = play.share, .seed = 1});
      if (!play.known.empty()) checks.know(play.known_by, play.known, job.micro_batch());
      MG_TRY(const StreamResult result,
             stream_through(job, context, nodes, reports, *work, trusted_plan(graph, job), replanner, &checks));
      if (const auto* dataset = dynamic_cast<const DatasetWork*>(work.get())) checked.answers = dataset->answers();
      checked.trust = trust_report(job, checks, false, result, reports);
      checked.seconds = result.seconds;
      return {};
    });
  });
  return checked;
}

/// liar: 0: all are honest.
Checked trusted_stream(const InferJob& job, net::Rank liar, const MakeWork& make_work) {
  RoleWorld world(kNodes + 1);
  Play play;
  if (liar != 0) play.changes[liar] = lies();
  return trusted_stream(world, job, play, make_work);
}

Checked trusted_stream(const InferJob& job, net::Rank liar) {
  return trusted_stream(job, liar, dataset_work(job));
}

const std::vector<std::int32_t>& honest_answers() {
  static const std::vector<std::int32_t> honest = trusted_stream(checked_job(1), 0).answers.predictions;
  return honest;
}

void expect_honest_answers(const Checked& checked, const std::string& where) {
  ASSERT_TRUE(checked.outcome.leader.ok()) << where << ": " << checked.outcome.leader.error().message;
  EXPECT_EQ(checked.answers.predictions, honest_answers()) << where;
  EXPECT_EQ(checked.answers.deliveries, std::vector<std::int32_t>(kTrustSamples, 1)) << where;
}

void expect_quarantined(const Checked& checked, const std::string& node) {
  EXPECT_TRUE(checked.outcome.has_event(R"("event":"quarantined","node":")" + node + '"')) << node;
  EXPECT_TRUE(checked.outcome.has_event(R"("event":"node_left_out","node":")" + node + '"')) << node;
  for (const TrustReport::Device& device : checked.trust.devices)
    EXPECT_EQ(device.quarantined, device.node == node) << device.node;
}

TEST(Trust, HonestDevicesAreAllBelieved) {
  for (const int stages : {1, 2}) {
    const InferJob job = checked_job(stages);
    RoleWorld world(kNodes + 1);
    // of the usual share, one run in fifteen has no check after the ten of each device that come fast
    const Checked checked = trusted_stream(world, job, {.share = 0.1}, dataset_work(job));
    expect_honest_answers(checked, "honest");
    EXPECT_GT(checked.trust.checks, 10);
    EXPECT_EQ(checked.trust.checks, checked.trust.copies) << "no third opinion";
    EXPECT_EQ(checked.trust.disputes, 0);
    EXPECT_EQ(checked.trust.redone, 0);
    for (const TrustReport::Device& device : checked.trust.devices) EXPECT_FALSE(device.quarantined) << device.node;
  }
}

TEST(Trust, ALiarIsFoundAndItsAnswersAreDoneAgain) {
  for (net::Rank liar = 1; liar <= kNodes; ++liar) {
    const Checked checked = trusted_stream(checked_job(1), liar);
    const std::string node = "rank-" + std::to_string(liar);
    expect_honest_answers(checked, node);
    expect_quarantined(checked, node);
    EXPECT_GT(checked.trust.redone, 0);
    EXPECT_EQ(checked.trust.in_doubt, 0);
  }
}

TEST(Trust, ALiarAmongStagesIsFoundWithTheWholeNetworkOnEach) {
  for (net::Rank liar = 1; liar <= kNodes; ++liar) {
    const Checked checked = trusted_stream(checked_job(2), liar);
    const std::string node = "rank-" + std::to_string(liar);
    expect_honest_answers(checked, node);
    EXPECT_TRUE(checked.outcome.has_event(R"("event":"isolated")")) << node;
    expect_quarantined(checked, node);
  }
}

/// A node that answers some samples wrongly whenever it is asked agrees with itself, and with nobody else.
TEST(Trust, ALiarDoesNotConfirmItsOwnKnownAnswers) {
  const auto is_wrong = [](std::uint64_t micro_batch) { return micro_batch % 2 == 1; };
  Play play{.known_by = 3, .known = honest_answers()};
  for (std::size_t i = 0; i < play.known.size(); ++i)
    if (is_wrong(i / 4)) play.known[i] = (play.known[i] + 1) % 10;
  play.changes[3] = of_answers([&](Predictions& predictions) {
    if (is_wrong(predictions.micro_batch())) shift_classes(predictions);
  });
  for (const int stages : {1, 2, 3}) {
    const InferJob job = checked_job(stages);
    RoleWorld world(kNodes + 1);
    const Checked checked = trusted_stream(world, job, play, dataset_work(job));
    expect_honest_answers(checked, std::to_string(stages) + " stages");
    expect_quarantined(checked, "rank-3");
    const std::string first = checked.outcome.of_kind("event").front().json;
    EXPECT_EQ(first.find("nothing_to_compare") != std::string::npos, stages == 3) << first;
  }
}

TEST(Trust, AStageOnOneNodeGivesWayToTheWholeNetworkOnEach) {
  for (net::Rank liar = 1; liar <= kNodes; ++liar) {
    const Checked checked = trusted_stream(checked_job(3), liar);
    const std::string node = "rank-" + std::to_string(liar);
    expect_honest_answers(checked, node);
    EXPECT_TRUE(checked.outcome.has_event(R"("event":"isolated","why":"nothing_to_compare")")) << node;
    expect_quarantined(checked, node);
  }
}

/// Without rank 4 one of two stages is on one node.
TEST(Trust, ALostNodeLeavesNoStageUnchecked) {
  InferJob job = checked_job(2);
  RoleWorld world(kNodes + 1);
  world.use_virtual_time();
  world.die({.rank = 4, .at_send = 10});
  Play play;
  play.changes[1] = lies();
  const Checked checked = trusted_stream(world, job, play, dataset_work(job));
  expect_honest_answers(checked, "without rank 4");
  EXPECT_TRUE(checked.outcome.has_event(R"("event":"isolated","why":"nothing_to_compare")"));
  expect_quarantined(checked, "rank-1");
}

/// Rank 1 has the first of two stages, and drops all of its micro-batches, which are late when it has computed them.
TEST(Trust, AMicroBatchThatAMiddleStageDropsIsNotWaitedFor) {
  InferJob job = checked_job(2);
  job.set_limit(80);
  job.set_deadline_s(0.2);
  RoleWorld world(kNodes + 1);
  world.use_virtual_time();
  const Checked checked = trusted_stream(world, job, {.seconds = {{1, 0.3}}, .share = 1}, dataset_work(job));
  ASSERT_TRUE(checked.outcome.leader.ok()) << checked.outcome.leader.error().message;
  EXPECT_EQ(checked.answers.deliveries, std::vector<std::int32_t>(80, 1));
  EXPECT_LT(checked.seconds, job.answer_timeout_s());
  EXPECT_FALSE(checked.outcome.has_event("node_left_out"));
}

/// Rank 2 drops all of its work without having a deadline, or gives classes that do not exist.
TEST(Trust, NonsenseEndsNoCheckAndOnlyItsNodeIsLeftOut) {
  const std::function<void(Predictions&)> nonsense[] = {
      [](Predictions& predictions) {
        predictions.set_missed(true);
        predictions.clear_classes();
      },
      [](Predictions& predictions) { predictions.mutable_classes()->Set(0, 10); }};
  for (const auto& says : nonsense) {
    const InferJob job = checked_job(1);
    RoleWorld world(kNodes + 1);
    world.use_virtual_time();
    const Checked checked =
        trusted_stream(world, job, {.changes = {{2, of_answers(says)}}, .share = 1}, dataset_work(job));
    expect_honest_answers(checked, "without rank 2");
    EXPECT_EQ(checked.trust.disputes, 0);
    int left_out = 0;
    for (const Report& report : checked.outcome.of_kind("event"))
      if (report.json.find("node_left_out") != std::string::npos) ++left_out;
    EXPECT_EQ(left_out, 1);
    EXPECT_TRUE(checked.outcome.has_event(R"("event":"node_left_out","node":"rank-2")"));
  }
}

TEST(Trust, FramesThatWereToldAlreadyAreInDoubt) {
  InferJob job = checked_job(1);
  job.clear_data();
  job.set_frames(true);
  const SteadyClock clock;
  job::FrameQueue queue(clock);
  std::jthread pusher([&] {
    const data::Image image{28, 28, 1, std::vector<std::uint8_t>(784, 90)};
    const std::string file = data::encode_png(image);
    for (int i = 0; i < kTrustSamples && queue.push({.name = "frame", .image = file, .problem = {}}); ++i) {
    }
    queue.end();
  });
  const Checked checked = trusted_stream(job, 2, [&](const Hello& data, Reports& reports) {
    const std::vector<std::string> classes(data.classes().begin(), data.classes().end());
    return std::make_unique<FrameWork>(job, queue, classes, 6, reports);
  });
  queue.close();
  ASSERT_TRUE(checked.outcome.leader.ok()) << checked.outcome.leader.error().message;
  expect_quarantined(checked, "rank-2");
  EXPECT_GT(checked.trust.in_doubt, 0);
  // none of them is done again; those that older frames held back may be, since nobody has heard of them
  std::size_t told = 0;
  for (const Report& report : checked.outcome.of_kind("answers")) told += json::parse(report.json)["answers"].size();
  EXPECT_EQ(told, static_cast<std::size_t>(kTrustSamples));
}

TEST(Trust, IsRefusedWhereNothingCanBeCompared) {
  InferJob job = checked_job(2);
  job.set_limit(20);
  const RoleWorld::Outcome two = infer(job, 2);
  EXPECT_EQ(two.leader.code(), Code::failed_precondition);
  EXPECT_EQ(two.leader.error().message,
            "trust: spot checks need 3 nodes, since of two that differ nobody knows who is wrong; there are 2");
  job.set_strategy("single");
  EXPECT_EQ(check_job(job).error().message, "trust: spot checks are of strategy 'pipeline', and 'single' has none");
}

}  // namespace
}  // namespace mangrove::infer
