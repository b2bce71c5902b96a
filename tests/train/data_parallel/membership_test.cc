// Workers that join a running job, are lost in any phase of a step, and come back; in virtual time.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tests/train/training_job.h"

namespace mangrove::train {
namespace {

constexpr std::int64_t kMembershipSamples = 120;
constexpr Seconds kMembershipLatency = 0.1;
constexpr net::Rank kVictim = 2;

/// Four epochs with three workers: twenty steps, each of some tenths of a second.
TrainJob long_job(const StrategyCase& strategy) {
  TrainJob job = job_of(strategy, kMembershipSamples);
  job.set_epochs(4);
  job.set_checkpoint_every_s(1e-9);  // after each step
  return job;
}

/// A run whose steps are timed.
struct TimedRun {
  explicit TimedRun(int workers) : world(workers + 1) {
    world.use_virtual_time(kMembershipLatency);
    world.cancel_at_end();
    world.on_report([this](const Report& report) {
      if (report.kind != ReportKind::checkpoint) return;
      const std::int64_t step = nlohmann::json::parse(report.json)["step"];
      done.emplace(step, world.time().now());
    });
  }
  /// From one step's end to the next one's.
  Seconds longest_step() const {
    Seconds longest = 0;
    for (auto step = done.begin(); step != done.end() && std::next(step) != done.end(); ++step)
      longest = std::max(longest, std::next(step)->second - step->second);
    return longest;
  }
  RoleWorld world;
  std::map<std::int64_t, Instant> done;
};

std::int64_t workers_at_end(const RoleWorld::Outcome& outcome) {
  return nlohmann::json::parse(outcome.result())["workers"];
}

struct Membership : ::testing::TestWithParam<StrategyCase> {
  const TrainJob job = long_job(GetParam());
};

TEST_P(Membership, AWorkerThatJoinsMidRunIsUsedFromTheNextStepOn) {
  for (const int at : {0, 3, 7, 12}) {
    TimedRun run(2);
    run.world.on_send([&](net::Rank from, net::Rank, int number) {
      if (from == 0 && number == at) run.world.add_worker();
    });
    const RoleWorld::Outcome outcome = train(job, run.world);
    const std::string where = "joins at message " + std::to_string(at) + " of the leader";
    expect_complete(outcome, job, where);
    EXPECT_EQ(workers_at_end(outcome), 3) << where;
    ASSERT_EQ(outcome.sent.size(), 4u);
    EXPECT_GE(outcome.sent[3], 3) << where << ": its hello, and answers";
  }
}

TEST_P(Membership, SeveralMayJoinAtOnceAndOneOfThemDie) {
  TimedRun run(2);
  run.world.die({.rank = 4, .at_send = 2});
  run.world.on_send([&](net::Rank from, net::Rank, int number) {
    for (int i = 0; from == 0 && number == 5 && i < 3; ++i) run.world.add_worker();
  });
  const RoleWorld::Outcome outcome = train(job, run.world);
  expect_complete(outcome, job, "three join, one dies");
  EXPECT_EQ(workers_at_end(outcome), 4);
}

enum class Phase { before_push, during_push, after_push, during_pull };
enum class Fault { kill, freeze, cut };

std::string describe(Phase phase, Fault fault, Seconds duration, int number) {
  const std::map<Phase, const char*> phases = {{Phase::before_push, "before push"},
                                               {Phase::during_push, "during push"},
                                               {Phase::after_push, "after push"},
                                               {Phase::during_pull, "during pull"}};
  const std::map<Fault, const char*> faults = {{Fault::kill, "kill"}, {Fault::freeze, "freeze"}, {Fault::cut, "cut"}};
  return std::string(faults.at(fault)) + " for " + std::to_string(duration) + " s " + phases.at(phase) + " " +
         std::to_string(number);
}

void strike(RoleWorld& world, Fault fault, Seconds duration) {
  if (fault == Fault::kill) world.kill(kVictim);
  if (fault == Fault::freeze) world.freeze(kVictim, duration);
  if (fault == Fault::cut) world.cut_off(kVictim, duration);
}

/// Strikes the victim in that phase of its number-th message, or of the number-th that the leader sends to it.
void arrange(RoleWorld& world, Phase phase, Fault fault, Seconds duration, int number) {
  const auto pulls = std::make_shared<int>(0);
  world.on_send([=, &world](net::Rank from, net::Rank to, int sent) {
    const bool pushes = from == kVictim && sent == number;
    const bool pulled = from == 0 && to == kVictim && (*pulls)++ == number;
    if (phase == Phase::during_pull ? !pulled : !pushes) return;
    if (phase == Phase::before_push) return strike(world, fault, duration);
    const Seconds later = (phase == Phase::after_push ? 1.5 : 0.5) * kMembershipLatency;
    world.time().at(world.time().after(later), [=, &world] { strike(world, fault, duration); });
  });
}

// The bound of a step: twice what it takes undisturbed, and the time until the silence of a rank is called a loss.
TEST_P(Membership, ALossInAnyPhaseOfAStepCostsNoMoreThanTheBound) {
  TimedRun undisturbed(3);
  expect_complete(train(job, undisturbed.world), job, "undisturbed");
  const Seconds bound = 2 * undisturbed.longest_step() + RoleWorld::kDetectorTime;
  const Seconds returns = RoleWorld::kDetectorTime + 0.2;
  for (const Phase phase : {Phase::before_push, Phase::during_push, Phase::after_push, Phase::during_pull}) {
    for (const auto& [fault, duration] : std::vector<std::pair<Fault, Seconds>>{
             {Fault::kill, 0}, {Fault::freeze, 1}, {Fault::freeze, returns}, {Fault::cut, 1}, {Fault::cut, returns}}) {
      for (const int number : {4, 5}) {
        TimedRun run(3);
        arrange(run.world, phase, fault, duration, number);
        const RoleWorld::Outcome outcome = train(job, run.world);
        const std::string where = describe(phase, fault, duration, number);
        expect_complete(outcome, job, where);
        EXPECT_LE(run.longest_step(), bound) << where;
        EXPECT_EQ(workers_at_end(outcome), fault == Fault::kill ? 2 : 3) << where;
        // nobody else had to begin anew, and the victim only where it was given up
        EXPECT_EQ(outcome.others.size(), duration > RoleWorld::kDetectorTime ? 4u : 3u) << where;
        for (const std::size_t other : {0, 2}) {
          const Status& ended = outcome.others[other];
          EXPECT_TRUE(ended.ok() || ended.code() == Code::cancelled) << where << ": " << ended.error().message;
        }
      }
    }
  }
}

// It wakes up long after the others have gone on without it.
TEST_P(Membership, AWorkerThatComesBackLateFindsTheJobWhereItIs) {
  for (const Fault fault : {Fault::freeze, Fault::cut}) {
    TimedRun run(3);
    TrainJob longer = job;
    longer.set_epochs(20);
    arrange(run.world, Phase::during_push, fault, 10, 5);
    const RoleWorld::Outcome outcome = train(longer, run.world);
    expect_complete(outcome, longer, "10 s");
    EXPECT_EQ(workers_at_end(outcome), 3);
    EXPECT_GE(outcome.sent.at(4), 3);
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, Membership, ::testing::ValuesIn(every_strategy()), name_of);

}  // namespace
}  // namespace mangrove::train
