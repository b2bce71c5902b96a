#include "mangrove/job/roster.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/base/hand_clock.h"
#include "tests/job/still_device.h"

#include "mangrove/net/in_process.h"

namespace mangrove::job {
namespace {

using Log = std::vector<std::string>;
using Ranks = net::RankSet;

constexpr Seconds kTimeout = 10;

Introduction data(const std::string& what) {
  return {what, what + " samples"};
}
const Introduction kNone{"", "nothing", /*knows_data=*/false};

/// Ranks 1 to 4, whose messages are what the test says.
class RosterTest : public ::testing::Test, private Roster::Owner {
 protected:
  Roster& roster() { return roster_; }

  /// What happens while somebody waits: one thing in each turn, and when there is nothing left a second passes.
  void then(std::function<void()> event) { events_.push_back(std::move(event)); }
  void then_hello(net::Rank rank, const Introduction& says) {
    then([this, rank, says] { roster_.take_hello(rank, says); });
  }
  Status next() {
    if (events_.empty()) {
      clock_.pass(1);
      roster_.ask_the_silent();
      return {};
    }
    events_.front()();
    events_.pop_front();
    return {};
  }
  Result<const Introduction*> gather() {
    return roster_.gather([this] { return next(); });
  }
  /// All four have the same data.
  void gather_all() {
    for (net::Rank rank = 1; rank <= 4; ++rank) then_hello(rank, data("60"));
    ASSERT_TRUE(gather().ok());
    ASSERT_EQ(roster_.present(), (Ranks{1, 2, 3, 4}));
  }
  void lose(net::Rank rank) {
    world_.kill(rank);
    roster_.drop_gone();
  }
  /// As RoleContext::idle was told.
  const std::map<net::Rank, bool>& idle() const { return idle_; }
  Log take_log() { return std::exchange(log_, {}); }

  testing::HandClock clock_;
  net::InProcessWorld world_{5};

 private:
  void ask_for_hello(net::Rank rank) override { log_.push_back("ask " + std::to_string(rank)); }
  void left_out(const net::RankSet& ranks, const Error& why) override {
    log_.push_back("out " + roster_.names(ranks) + ": " + why.message);
  }
  void lost(net::Rank rank) override { log_.push_back("lost " + std::to_string(rank)); }
  void is_back(net::Rank rank) override { log_.push_back("back " + std::to_string(rank)); }

  Log log_;
  std::map<net::Rank, bool> idle_;
  std::deque<std::function<void()>> events_;
  StillDevice device_;
  RoleContext context_{.endpoint = world_.endpoint(0),
                       .clock = clock_,
                       .device = device_,
                       .data_folder = {},
                       .stop = {},
                       .report = {},
                       .idle = [this](net::Rank rank, bool is_idle) { idle_[rank] = is_idle; }};
  Roster roster_{context_, *this, {"worker", "step_timeout_s"}, kTimeout};
};

TEST_F(RosterTest, GathersAtOnceWhenAllHaveSaidHello) {
  gather_all();
  EXPECT_EQ(clock_.now().seconds, 100);
  EXPECT_TRUE(take_log().empty());
}

TEST_F(RosterTest, LeavesOutTheMinority) {
  then_hello(1, data("50"));
  then_hello(2, data("60"));
  then_hello(3, data("60"));
  then_hello(4, data("70"));
  const auto chosen = gather();
  ASSERT_TRUE(chosen.ok());
  EXPECT_EQ((*chosen)->data, "60");
  EXPECT_EQ(roster().present(), (Ranks{2, 3}));
  EXPECT_EQ(take_log(), (Log{"out rank-1: the data set differs: 50 samples, others have 60 samples (names and sample "
                             "shape count too)",
                             "out rank-4: the data set differs: 70 samples, others have 60 samples (names and sample "
                             "shape count too)"}));
  EXPECT_EQ(roster().failure(4)->code, Code::failed_precondition);
  EXPECT_TRUE(roster().failure(4)->message.starts_with("rank-4: the data set differs"));
  EXPECT_FALSE(roster().failure(2));
}

TEST_F(RosterTest, AmongEqualsTheLowestRankIsRight) {
  then_hello(4, data("60"));
  then_hello(2, data("50"));
  then_hello(3, data("60"));
  then_hello(1, data("50"));
  EXPECT_EQ((*gather().value()).data, "50");
  EXPECT_EQ(roster().present(), (Ranks{1, 2}));
}

TEST_F(RosterTest, WaitsForALateHelloUntilTheTimeoutOnly) {
  then_hello(2, data("60"));
  ASSERT_TRUE(gather().ok());
  EXPECT_EQ(clock_.now().seconds, 100 + kTimeout);
  EXPECT_EQ(roster().present(), Ranks{2});
  EXPECT_EQ(take_log(), (Log{"ask 1", "ask 3", "ask 4"}));
  roster().take_hello(3, data("60"));
  roster().take_hello(4, data("61"));
  EXPECT_EQ(roster().present(), (Ranks{2, 3}));
  EXPECT_EQ(roster().heard(), (Ranks{1, 2, 3}));
}

TEST_F(RosterTest, ALeftOutOrLostRankIsNotWaitedFor) {
  then_hello(2, data("60"));
  then_hello(3, data("60"));
  then([&] { roster().leave_out(1, failure_in_hello(static_cast<int>(Code::not_found), "no data")); });
  then([&] { lose(4); });
  ASSERT_TRUE(gather().ok());
  EXPECT_EQ(clock_.now().seconds, 100);
  EXPECT_EQ(roster().present(), (Ranks{2, 3}));
  EXPECT_EQ(take_log(), (Log{"lost 4", "out rank-1: no data"}));
  EXPECT_EQ(roster().failure(1)->code, Code::not_found);
  EXPECT_FALSE(roster().failure(4));
}

TEST_F(RosterTest, ThoseLeftOutForOneReasonAreNamedTogether) {
  const Error no_file = make_error(Code::not_found, "no data"), no_test = make_error(Code::not_found, "no test split");
  then([&] { roster().leave_out(4, no_file); });
  then([&] { roster().leave_out(2, no_test); });
  then([&] { roster().leave_out(1, no_file); });
  then_hello(3, data("60"));
  ASSERT_TRUE(gather().ok());
  EXPECT_EQ(take_log(), (Log{"out rank-1 and rank-4: no data", "out rank-2: no test split"}));
  roster().leave_out(3, make_error(Code::unavailable, "broken"));
  EXPECT_EQ(take_log(), Log{"out rank-3: broken"}) << "later they are told of at once";
  EXPECT_EQ(roster().check_left().error().message, "rank-3: broken");
}

TEST_F(RosterTest, WhereNoneCanTakePartTheErrorAloneSaysWhy) {
  for (const net::Rank rank : {3, 1, 2})
    then([this, rank] { roster().leave_out(rank, make_error(Code::not_found, "no data")); });
  then([&] { roster().leave_out(4, make_error(Code::data_loss, "half a file")); });
  const auto none = gather();
  EXPECT_EQ(none.code(), Code::not_found);
  EXPECT_EQ(none.error().message, "rank-1, rank-2 and rank-3: no data; rank-4: half a file");
  EXPECT_TRUE(take_log().empty());
}

TEST_F(RosterTest, ThatTheLastOneIsLostDoesNotHideWhyOthersCannotTakePart) {
  for (const net::Rank rank : {1, 2, 3})
    then([this, rank] { roster().leave_out(rank, make_error(Code::not_found, "no data")); });
  then([&] { lose(4); });
  EXPECT_EQ(gather().error().message, "rank-1, rank-2 and rank-3: no data");
}

TEST_F(RosterTest, AnUnknownCodeInAHelloIsAnInternalError) {
  for (const int code : {-7, 0, 99}) EXPECT_EQ(failure_in_hello(code, "why").code, Code::internal);
  EXPECT_EQ(failure_in_hello(static_cast<int>(Code::data_loss), "why").code, Code::data_loss);
}

TEST_F(RosterTest, SilenceOfAllIsAnError) {
  const auto none = gather();
  EXPECT_EQ(none.code(), Code::unavailable);
  EXPECT_EQ(clock_.now().seconds, 100 + 3 * kTimeout + 1);
  EXPECT_EQ(none.error().message,
            "no worker has answered for 31.0 s (rank-1, rank-2, rank-3, rank-4); step_timeout_s is 10.0 s");
  EXPECT_EQ(take_log().size(), 12u) << "each is asked three times";
}

TEST_F(RosterTest, AnotherSignOfLifeBeginsPatienceAnew) {
  for (int second = 0; second < 25; ++second) then([&] { clock_.pass(1); });
  then([&] { roster().begin_waiting(); });
  EXPECT_EQ(gather().code(), Code::unavailable);
  EXPECT_EQ(clock_.now().seconds, 125 + 3 * kTimeout + 1);
}

TEST_F(RosterTest, WhyTheLastOneWentIsTheError) {
  gather_all();
  lose(1);
  lose(3);
  roster().leave_out(2, make_error(Code::resource_exhausted, "full"));
  EXPECT_TRUE(roster().check_left().ok());
  lose(4);
  EXPECT_EQ(roster().check_left().error().message, "no worker is left; the last one lost was rank-4");
}

TEST_F(RosterTest, ASilentWorkerIsAskedAndComesBackWithAnySign) {
  gather_all();
  roster().miss(2);
  EXPECT_EQ(roster().present(), (Ranks{1, 3, 4}));
  EXPECT_TRUE(roster().is_silent(2));
  roster().ask_the_silent();
  roster().ask_the_silent();
  EXPECT_EQ(take_log(), Log{"ask 2"}) << "once a timeout";
  clock_.pass(kTimeout);
  roster().ask_the_silent();
  EXPECT_EQ(take_log(), Log{"ask 2"});
  roster().hear(2);
  EXPECT_TRUE(roster().is_present(2));
  roster().hear(2);
  EXPECT_EQ(take_log(), Log{"back 2"});
  roster().miss(2);
  roster().take_hello(2, data("60"));
  EXPECT_TRUE(roster().is_present(2));
  EXPECT_EQ(take_log(), Log{"back 2"});
}

TEST_F(RosterTest, ThreeMissesInARowAreTooMany) {
  gather_all();
  const auto miss = [&] {
    roster().miss(2);
    roster().hear(2);
  };
  miss();
  miss();
  roster().forget_misses(2);
  miss();
  miss();
  EXPECT_TRUE(roster().is_present(2));
  take_log();
  roster().miss(2);
  EXPECT_EQ(take_log(), Log{"out rank-2: 3 times in a row no answer within 10.0 s (step_timeout_s)"});
  roster().hear(2);
  EXPECT_FALSE(roster().is_present(2)) << "for good";
}

TEST_F(RosterTest, PatienceEndsWhenAllHaveBeenSilentForLong) {
  gather_all();
  for (net::Rank rank = 1; rank <= 4; ++rank) roster().miss(rank);
  clock_.pass(3 * kTimeout);
  EXPECT_TRUE(roster().check_patience().ok());
  clock_.pass(1);
  EXPECT_EQ(roster().check_patience().code(), Code::unavailable);
  roster().hear(3);
  EXPECT_TRUE(roster().check_patience().ok());
}

TEST_F(RosterTest, AWorkerWhoseDataChangesIsLeftOut) {
  gather_all();
  roster().take_hello(3, data("60"));
  EXPECT_TRUE(roster().is_present(3));
  roster().take_hello(3, data("59"));
  EXPECT_EQ(roster().present(), (Ranks{1, 2, 4}));
}

TEST_F(RosterTest, ANewcomerWithTheSameDataIsAdmitted) {
  gather_all();
  EXPECT_EQ(world_.join(), 5);
  EXPECT_EQ(world_.join(), 6);
  roster().add_newcomers();
  EXPECT_EQ(roster().present(), (Ranks{1, 2, 3, 4})) << "it has said nothing";
  EXPECT_EQ(roster().heard().size(), 6u);
  roster().take_hello(5, data("60"));
  roster().take_hello(6, data("61"));
  EXPECT_EQ(roster().present(), (Ranks{1, 2, 3, 4, 5}));
  EXPECT_EQ(roster().all().size(), 6u);
}

TEST_F(RosterTest, WorkersWithoutDataMayTakePartWhereItIsSaid) {
  roster().take_without_data();
  then_hello(1, kNone);
  then_hello(2, kNone);
  then_hello(3, data("60"));
  then_hello(4, data("61"));
  EXPECT_EQ((*gather().value()).data, "60") << "those without data have no vote";
  EXPECT_EQ(roster().present(), (Ranks{1, 2, 3, 4}));
  EXPECT_FALSE(roster().has_data(1));
  EXPECT_TRUE(roster().has_data(3));
  EXPECT_FALSE(roster().has_data(4));
}

TEST_F(RosterTest, SomebodyMustHaveTheData) {
  roster().take_without_data();
  for (net::Rank rank = 1; rank <= 4; ++rank) then_hello(rank, kNone);
  EXPECT_EQ(gather().value(), nullptr);
}

TEST_F(RosterTest, PatienceWithThoseWithoutDataEndsToo) {
  roster().take_without_data();
  then_hello(1, kNone);
  const auto none = gather();
  EXPECT_EQ(none.code(), Code::unavailable);
  EXPECT_TRUE(none.error().message.starts_with("no worker with the data set has answered")) << none.error().message;
}

TEST_F(RosterTest, WhereRankZeroHasTheDataNobodyElseNeedsIt) {
  roster().set_data(data("60"));
  then_hello(2, kNone);
  EXPECT_EQ((*gather().value()).data, "60");
  EXPECT_EQ(roster().present(), Ranks{2});
  EXPECT_FALSE(roster().has_data(2));
}

TEST_F(RosterTest, ALongMessageInAHelloIsCutShort) {
  const Error error = failure_in_hello(static_cast<int>(Code::data_loss), std::string(1'000'000, 'x'));
  EXPECT_EQ(error.message.size(), 4096u);
  EXPECT_TRUE(error.message.ends_with("x..."));
}

TEST_F(RosterTest, AWorkerThatNeverSaysHelloIsNamedAfterFourTimeoutsAndLetInLater) {
  for (const net::Rank rank : {1, 2, 3}) then_hello(rank, data("60"));
  ASSERT_TRUE(gather().ok());
  for (int second = 0; second < 3 * kTimeout - 1; ++second) ASSERT_TRUE(next().ok());
  EXPECT_EQ(take_log(), (Log{"ask 4", "ask 4", "ask 4"}));
  ASSERT_TRUE(next().ok());
  EXPECT_EQ(take_log(), (Log{"out rank-4: it has not said hello for 40.0 s; step_timeout_s is 10.0 s", "ask 4"}));
  for (int second = 0; second < 5 * kTimeout; ++second) ASSERT_TRUE(next().ok());
  EXPECT_EQ(take_log(), Log(5, "ask 4")) << "it is named once";
  EXPECT_EQ(roster().present(), (Ranks{1, 2, 3}));
  roster().take_hello(4, data("60"));
  EXPECT_EQ(take_log(), Log{"back 4"});
  EXPECT_EQ(roster().present(), (Ranks{1, 2, 3, 4}));
}

TEST_F(RosterTest, AWorkerIsIdleUntilItDoesSomething) {
  for (const net::Rank rank : {1, 2, 3}) then_hello(rank, data("60"));
  ASSERT_TRUE(gather().ok());
  EXPECT_EQ(idle(), (std::map<net::Rank, bool>{{1, false}, {2, false}, {3, false}, {4, true}}));
  roster().take_hello(4, data("60"));
  EXPECT_FALSE(idle().at(4));
}

TEST_F(RosterTest, AWorkerThatSaysHelloAndDoesNothingElseIsIdle) {
  gather_all();
  for (const net::Rank rank : {1, 2}) roster().forget_misses(rank);  // they work
  for (const net::Rank rank : {2, 3}) roster().miss(rank);
  EXPECT_FALSE(idle().at(2)) << "it has worked";
  EXPECT_TRUE(idle().at(3));
  roster().take_hello(3, data("60"));
  EXPECT_TRUE(idle().at(3)) << "to say hello is no work";
  roster().hear(3);
  EXPECT_FALSE(idle().at(3)) << "a late answer is";
  for (int i = 0; i < 2; ++i) roster().miss(2);
  EXPECT_FALSE(idle().at(2)) << "it has worked, and is slow";
  EXPECT_EQ(roster().present(), (Ranks{1, 3, 4})) << "left out after three times in a row";
  roster().miss(4);
  for (int i = 0; i < 2; ++i) {
    roster().hear(4);  // it says that it is there, and does no more
    roster().miss(4);
  }
  EXPECT_TRUE(idle().at(4));
  EXPECT_EQ(roster().present(), (Ranks{1, 3}));
}

TEST_F(RosterTest, AWorkerThatGivesNoAnswerIsIdleUntilItDoesSomething) {
  gather_all();
  roster().forget_misses(2);
  for (const net::Rank rank : {1, 2}) roster().note_no_answer(rank);
  EXPECT_TRUE(idle().at(1));
  EXPECT_FALSE(idle().at(2)) << "it has worked";
  roster().take_hello(1, data("60"));
  EXPECT_TRUE(idle().at(1)) << "to say hello is no work";
  EXPECT_EQ(roster().present(), (Ranks{1, 2, 3, 4})) << "it may be asked again";
  roster().forget_misses(1);
  EXPECT_FALSE(idle().at(1));
}

TEST_F(RosterTest, AWorkerThatIsLateEachTimeIsLeftOutAndNotIdle) {
  gather_all();
  roster().miss(2);
  EXPECT_TRUE(idle().at(2)) << "nothing has come of it yet";
  roster().hear_late(2);
  EXPECT_FALSE(idle().at(2));
  EXPECT_TRUE(roster().is_present(2));
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(roster().is_present(2));
    roster().miss(2);
    EXPECT_FALSE(idle().at(2));
    if (i == 0) roster().hear_late(2);
  }
  EXPECT_EQ(roster().present(), (Ranks{1, 3, 4}));
}

}  // namespace
}  // namespace mangrove::job
