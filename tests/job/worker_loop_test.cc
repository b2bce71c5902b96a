#include "mangrove/job/worker_loop.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "tests/job/still_device.h"

#include "mangrove/net/in_process.h"

namespace mangrove::job {
namespace {

constexpr net::Tag kOrder = 1, kHello = 2, kPeer = 3, kResult = 4;
constexpr Seconds kLong = 20;

/// Orders are words: "ping", "end", "fail", "load" (as one that takes other orders meanwhile), "later WORD" (work that
/// is left to do); all that begins with '?' cannot be read.
class WordWorker final : public WorkerLoop {
 public:
  WordWorker(RoleContext& context, Status prepared, std::vector<net::Tag> from_peers)
      : WorkerLoop(context, kOrder, std::move(from_peers)), prepared_(std::move(prepared)) {}

 private:
  Status prepare() override { return prepared_; }
  void say_hello(const Status& status) override {
    context_.endpoint.send(0, kHello, status.ok() ? "here" : status.error().message);
  }
  Order read(const net::Message& message) override {
    const std::string word = message.payload;
    if (word.starts_with("?")) return {};
    if (word == "ping") return {Order::ping};
    if (word == "end") return {Order::end};
    return {Order::work, [this, word] { return handle(word); }};
  }
  Status handle(const std::string& word) {
    if (word == "fail") return make_error(Code::resource_exhausted, "full");
    if (word == "load") return load();
    if (word.starts_with("later ")) {
      left_.push_back(word.substr(6));
    } else {
      say(word);
    }
    return {};
  }
  /// Orders that come while it loads are followed afterwards.
  Status load() {
    MG_TRY(net::Message message, context_.endpoint.recv({0}, kOrder, context_.clock.after(kLong)));
    if (message.payload == "end") {
      end();
      return make_error(Code::cancelled, "the job has ended");
    }
    say("loaded");
    postponed_.push_back(std::move(message));
    return {};
  }
  std::optional<net::Message> next_postponed() override {
    if (postponed_.empty()) return std::nullopt;
    net::Message message = std::move(postponed_.front());
    postponed_.pop_front();
    return message;
  }
  void take(net::Message message) override { say(message.payload + " of " + std::to_string(message.from)); }
  Instant due() const override { return left_.empty() ? Instant::never() : Instant(); }
  Status work() override {
    if (left_.empty()) return {};
    const std::string word = left_.front();
    left_.pop_front();
    if (word == "fail") return make_error(Code::internal, "broken");
    say(word);
    return {};
  }
  void say(const std::string& what) { context_.endpoint.send(0, kResult, what); }

  const Status prepared_;
  std::deque<std::string> left_;
  std::deque<net::Message> postponed_;
};

class WorkerLoopTest : public ::testing::Test {
 protected:
  void start(Status prepared = {}, std::vector<net::Tag> from_peers = {}) {
    thread_ = std::jthread([this, prepared, from_peers] {
      RoleContext context{.endpoint = world_.endpoint(1),
                          .clock = clock_,
                          .device = device_,
                          .data_folder = {},
                          .stop = {},
                          .report = {}};
      ended_ = WordWorker(context, prepared, from_peers).run();
    });
  }
  void order(const std::string& word) { world_.endpoint(0).send(1, kOrder, word); }
  std::string next(net::Tag tag) {
    const Result<net::Message> message = world_.endpoint(0).recv({1}, tag, clock_.after(kLong));
    return message.ok() ? message->payload : message.error().message;
  }
  bool says_nothing_more(net::Tag tag) {
    return world_.endpoint(0).recv({1}, tag, clock_.now()).code() == Code::deadline_exceeded;
  }
  Status end() {
    thread_.join();
    return ended_;
  }

  SteadyClock clock_;
  StillDevice device_;
  net::InProcessWorld world_{3};
  Status ended_;
  std::jthread thread_;
};

TEST_F(WorkerLoopTest, SaysHelloAndFollowsOrdersUntilTheEnd) {
  start();
  EXPECT_EQ(next(kHello), "here");
  order("one");
  order("later two");
  order("three");
  EXPECT_EQ(next(kResult), "one");
  EXPECT_TRUE(next(kResult) != next(kResult)) << "both: in which order depends on when they came";
  order("ping");
  EXPECT_EQ(next(kHello), "here");
  order("end");
  order("never");
  EXPECT_TRUE(end().ok());
  EXPECT_TRUE(says_nothing_more(kResult));
}

TEST_F(WorkerLoopTest, PassesOverWhatItCannotRead) {
  start();
  EXPECT_EQ(next(kHello), "here");
  order("?#!");
  world_.endpoint(2).send(1, kOrder, "end");  // an order of another rank is none, and this one is not read at all
  order("still");
  EXPECT_EQ(next(kResult), "still");
  order("end");
  EXPECT_TRUE(end().ok());
}

TEST_F(WorkerLoopTest, TakesNoOrderFromAPeer) {
  start({}, {kPeer});  // it listens to all ranks
  EXPECT_EQ(next(kHello), "here");
  world_.endpoint(2).send(1, kOrder, "end");
  world_.endpoint(2).send(1, kPeer, "values");
  EXPECT_EQ(next(kResult), "values of 2");
  order("end");
  EXPECT_TRUE(end().ok());
}

TEST_F(WorkerLoopTest, AFailureIsSaidOnceAndWheneverItIsAsked) {
  start();
  EXPECT_EQ(next(kHello), "here");
  order("fail");
  EXPECT_EQ(next(kHello), "full");
  order("one");
  EXPECT_EQ(next(kHello), "full") << "in place of the work";
  order("ping");
  EXPECT_EQ(next(kHello), "full");
  order("end");
  EXPECT_EQ(end().code(), Code::resource_exhausted);
  EXPECT_TRUE(says_nothing_more(kResult));
  EXPECT_TRUE(says_nothing_more(kHello));
}

TEST_F(WorkerLoopTest, AWorkerThatFailsAtWhatIsLeftSaysSo) {
  start({}, {kPeer});
  EXPECT_EQ(next(kHello), "here");
  order("later fail");
  EXPECT_EQ(next(kHello), "broken");
  world_.endpoint(2).send(1, kPeer, "values");  // not taken any more
  order("ping");
  EXPECT_EQ(next(kHello), "broken");
  order("end");
  EXPECT_EQ(end().code(), Code::internal);
  EXPECT_TRUE(says_nothing_more(kResult));
}

TEST_F(WorkerLoopTest, AWorkerThatIsNotPreparedSaysWhy) {
  start(make_error(Code::not_found, "no data set"));
  EXPECT_EQ(next(kHello), "no data set");
  order("end");
  EXPECT_EQ(end().code(), Code::not_found);
}

TEST_F(WorkerLoopTest, FollowsAfterwardsWhatCameMeanwhile) {
  start();
  EXPECT_EQ(next(kHello), "here");
  order("load");
  order("one");
  order("two");
  EXPECT_EQ(next(kResult), "loaded");
  EXPECT_EQ(next(kResult), "one");
  EXPECT_EQ(next(kResult), "two");
  order("load");
  order("end");
  EXPECT_TRUE(end().ok()) << "the end that came meanwhile is no failure";
}

TEST_F(WorkerLoopTest, GoesOnWithoutAPeerButNotWithoutRankZero) {
  start({}, {kPeer});
  EXPECT_EQ(next(kHello), "here");
  world_.kill(2);  // a peer that is gone is no reason to stop
  order("one");
  EXPECT_EQ(next(kResult), "one");
  world_.kill(0);
  EXPECT_EQ(end().code(), Code::unavailable);
}

TEST_F(WorkerLoopTest, StopsWhenTheJobIsCancelled) {
  start();
  EXPECT_EQ(next(kHello), "here");
  world_.endpoint(1).cancel();
  EXPECT_EQ(end().code(), Code::cancelled);
}

}  // namespace
}  // namespace mangrove::job
