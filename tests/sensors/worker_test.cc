// The worker without links: messages stand in the queues of its sources.
#include "mangrove/sensors/worker.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/base/temporary_folder.h"
#include "tests/sensors/broker.h"
#include "tests/sensors/one_model.h"

#include "mangrove/sensors/outbox.h"

namespace mangrove::sensors {
namespace {

using testing::TemporaryFolder;

/// Answers as largest_number() does, but not before it is released; until then it refuses some or holds them back.
class HeldModel final : public serve::Model {
 public:
  const serve::ModelMetadata& metadata() const override { return inner_->metadata(); }
  serve::ModelStatistics statistics() const override { return {}; }
  void infer(serve::InferenceRequest request, serve::AnswerSink answer) override {
    const MutexLock lock(mutex_);
    if (refusals_ > 0) {
      --refusals_;
      answer(make_error(Code::unavailable, "the cluster is away"));
    } else if (is_held_) {
      held_.emplace_back(std::move(request), std::move(answer));
    } else {
      inner_->infer(std::move(request), std::move(answer));
    }
  }
  void hold() {
    const MutexLock lock(mutex_);
    is_held_ = true;
  }
  void release() {
    const MutexLock lock(mutex_);
    is_held_ = false;
    for (auto& [request, answer] : held_) inner_->infer(std::move(request), std::move(answer));
    held_.clear();
  }
  void refuse(int count) {
    const MutexLock lock(mutex_);
    refusals_ = count;
  }
  std::size_t held() const {
    const MutexLock lock(mutex_);
    return held_.size();
  }

 private:
  const std::shared_ptr<serve::Model> inner_ = largest_number();
  mutable Mutex mutex_;
  bool is_held_ MG_GUARDED_BY(mutex_) = false;
  int refusals_ MG_GUARDED_BY(mutex_) = 0;
  std::vector<std::pair<serve::InferenceRequest, serve::AnswerSink>> held_ MG_GUARDED_BY(mutex_);
};

/// A worker with one source. Its thread runs from start() to stop().
struct OneWorker {
  explicit OneWorker(SourceOptions options, std::unique_ptr<DiskOutbox> disk = nullptr) {
    options.name = "leaves";
    auto source = std::make_unique<Source>(std::move(options));
    source->series = TopicTemplate::parse("{source}").value();
    source->group = {.options = source->options.window, .rows = 1};
    sources.push_back(std::move(source));
    worker = std::make_unique<Worker>(models, inbox, sources, Delivery(std::move(disk), 1'000'000),
                                      Worker::Options{.model = "m", .data_folder = {}});
  }
  ~OneWorker() { stop(0); }
  void put(const std::string& payload) {
    sources[0]->queue.push({.topic = "sample", .payload = payload, .arrived = 1'000'000});
    inbox->wake();
  }
  void start() {
    thread = std::jthread([this] { worker->run(); });
  }
  void stop(Seconds grace) {
    inbox->stop(SteadyClock().after(grace));
    if (thread.joinable()) thread.join();
  }
  SourceCounts counts() const { return worker->counts().sources.at(0); }

  const std::shared_ptr<HeldModel> model = std::make_shared<HeldModel>();
  OneModel models{model};
  const std::shared_ptr<Inbox> inbox = std::make_shared<Inbox>();
  std::vector<std::unique_ptr<Source>> sources;
  std::unique_ptr<Worker> worker;
  std::jthread thread;
};

/// Each message has six numbers, and so completes six windows with a hop of one slot.
TEST(Worker, TakesNoMessageWhileTooManyWindowsWait) {
  SourceOptions options;
  options.window = {.length = 3, .hop = 1, .period = 1, .ahead = 1e9};
  options.payload.value = "/v";
  options.payload.time = "/t";
  OneWorker one(options);
  one.model->hold();
  constexpr int kMessages = 200;
  for (int i = 0; i < kMessages; ++i)
    one.put(R"({"t":)" + std::to_string(1000 + 6 * i) + R"(,"v":)" + "[0,9,0,0,9,0]}");
  one.start();
  ASSERT_TRUE(wait_for([&] { return one.model->held() == 256; }));
  EXPECT_GE(one.counts().waiting, static_cast<std::uint64_t>(kMessages - 256 / 6 - 2));
  one.model->release();
  EXPECT_TRUE(wait_for([&] { return one.counts().answered == 6 * kMessages - 3; }));
}

/// The first 32 are answered in one round, and in that round the 33rd is read.
TEST(Worker, AnIdThatHasJustBeenAnsweredIsADuplicate) {
  const TemporaryFolder folder;
  SourceOptions options;
  options.once = true;
  options.payload.value = "/v";
  options.payload.id = "/id";
  OneWorker one(options, DiskOutbox::open(folder / "outbox.sqlite", {}).value());
  for (int i = 0; i < 64; ++i) one.put(R"({"id":"n)" + std::to_string(i % 32) + R"(","v":[0,9,0]})");
  one.start();
  ASSERT_TRUE(wait_for([&] { return one.counts().answered + one.counts().duplicates == 64; }));
  EXPECT_EQ(one.counts().answered, 32U);
}

TEST(Worker, AsksAgainWhileItIsBeingStoppedUntilTheGraceIsOver) {
  OneWorker one({});
  one.model->refuse(4);
  one.put("[0,9,0]");
  one.inbox->stop(SteadyClock().after(kTestLong));
  one.start();
  one.thread.join();
  EXPECT_EQ(one.counts().answered, 1U);

  OneWorker other({});
  other.model->refuse(1'000'000);
  other.put("[0,9,0]");
  other.inbox->stop(SteadyClock().after(0.1));
  other.start();
  other.thread.join();
  EXPECT_EQ(other.counts().failed, 1U);
}

}  // namespace
}  // namespace mangrove::sensors
