#include "mangrove/cluster/node_allocator.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace mangrove::cluster {
namespace {

struct Line final : NodeLink {
  void send(ToNode) override {}
  void cut() override {}
};

struct NodeAllocatorTest : ::testing::Test {
  MemberId join(const std::string& name, const std::vector<std::string>& labels = {}) {
    NodeDescription description;
    description.set_name(name);
    description.mutable_labels()->Add(labels.begin(), labels.end());
    return membership.join(std::move(description), "", std::make_shared<Line>(), {0}).id;
  }
  /// Takes as many as the job wants, as Admission does.
  std::string begin(const std::string& job, std::size_t wanted, std::size_t most = 1000) {
    const auto taken = allocator.begin(job, [&](std::vector<Member> free, std::size_t) {
      if (free.size() < wanted) return std::vector<Member>();
      free.resize(std::min(free.size(), most));
      return free;
    });
    return names(*taken);
  }
  std::string grow(const std::string& job, std::size_t most = 1000) {
    return names(allocator.grow(job, most, [](MemberId) { return true; }));
  }
  static std::string names(const std::vector<Member>& nodes) {
    std::string text;
    for (const Member& node : nodes) text += (text.empty() ? "" : " ") + node.description.name();
    return text;
  }

  Membership membership{0.5, 6};
  NodeAllocator allocator{membership};
};

TEST_F(NodeAllocatorTest, JobsGetDifferentNodesUnlessTheyShare) {
  for (const char* name : {"a", "b", "c"}) join(name);
  allocator.enter({.job = "one", .wanted = 2});
  allocator.enter({.job = "two", .wanted = 1});
  EXPECT_EQ(begin("one", 2, 2), "a b");
  EXPECT_EQ(begin("two", 1), "c");
  allocator.enter({.job = "half", .share = 0.5});
  EXPECT_EQ(begin("half", 1), "");
  allocator.leave("one");
  EXPECT_EQ(begin("half", 1), "a b");
  allocator.enter({.job = "other half", .share = 0.5});
  EXPECT_EQ(begin("other half", 1), "a b");
  allocator.enter({.job = "a little", .share = 0.01});
  EXPECT_EQ(begin("a little", 1), "");
}

TEST_F(NodeAllocatorTest, ThreeThirdsFillANode) {
  join("a");
  for (const char* job : {"1", "2", "3"}) {
    allocator.enter({.job = job, .share = 1.0 / 3});
    EXPECT_EQ(begin(job, 1), "a") << job;
  }
}

TEST_F(NodeAllocatorTest, TheHighestPriorityGoesFirstThenWhoCameFirst) {
  join("a");
  for (const auto& [job, priority] : std::vector<std::pair<std::string, int>>{{"low", -1}, {"first", 2}, {"second", 2}})
    allocator.enter({.job = job, .priority = priority});
  EXPECT_EQ(begin("low", 1), "");
  EXPECT_EQ(begin("second", 1), "");
  EXPECT_EQ(begin("first", 1), "a");
  allocator.leave("first");
  EXPECT_EQ(begin("low", 1), "");
  EXPECT_EQ(begin("second", 1), "a");
  allocator.leave("second");
  EXPECT_EQ(begin("low", 1), "a");
}

TEST_F(NodeAllocatorTest, ALargeJobIsNotOvertakenByOneBehindIt) {
  for (const char* name : {"a", "b"}) join(name);
  allocator.enter({.job = "small"});
  EXPECT_EQ(begin("small", 1, 1), "a");
  allocator.enter({.job = "large", .wanted = 2});
  allocator.enter({.job = "behind"});
  EXPECT_EQ(begin("large", 2), "");
  EXPECT_EQ(begin("behind", 1), "") << "b is kept for the large one";
  allocator.leave("small");
  EXPECT_EQ(begin("large", 2), "a b");
}

TEST_F(NodeAllocatorTest, AJobForWhichTooFewHaveJoinedHoldsUpNobody) {
  for (const char* name : {"a", "b"}) join(name);
  allocator.enter({.job = "huge", .priority = 9, .wanted = 3});
  allocator.enter({.job = "behind"});
  EXPECT_EQ(begin("huge", 3), "");
  EXPECT_EQ(begin("behind", 1, 1), "a");
}

TEST_F(NodeAllocatorTest, OnlyNodesWithItsLabelsAreAJobs) {
  join("a", {"kind=pi4"});
  join("b", {"kind=pi4", "zone=north"});
  join("c");
  allocator.enter({.job = "north", .labels = {"zone=north", "kind=pi4"}});
  EXPECT_EQ(begin("north", 1), "b");
  allocator.enter({.job = "norths", .priority = 5, .labels = {"zone=north"}});
  EXPECT_EQ(begin("norths", 1), "");
  allocator.enter({.job = "any"});
  EXPECT_EQ(begin("any", 1), "a c") << "the one that goes first does not want these";
}

TEST_F(NodeAllocatorTest, NewcomersGoToWhoWaitsWithTheSamePriority) {
  join("a");
  allocator.enter({.job = "running", .is_elastic = true});
  EXPECT_EQ(begin("running", 1), "a");
  allocator.enter({.job = "waiting"});
  join("b");
  EXPECT_EQ(grow("running"), "");
  EXPECT_EQ(begin("waiting", 1), "b");
  join("c");
  allocator.enter({.job = "lower", .priority = -1});
  EXPECT_EQ(grow("running"), "c");
  EXPECT_EQ(begin("lower", 1), "");
}

TEST_F(NodeAllocatorTest, AnElasticJobMakesRoomForOneOfHigherPriorityAndKeepsANode) {
  std::map<std::string, MemberId> ids;
  for (const char* name : {"a", "b", "c", "d"}) ids[name] = join(name);
  allocator.enter({.job = "training", .is_elastic = true});
  EXPECT_EQ(begin("training", 1), "a b c d");
  EXPECT_TRUE(allocator.to_give_up("training").empty());
  allocator.enter({.job = "equal", .wanted = 2});
  EXPECT_TRUE(allocator.to_give_up("training").empty());
  allocator.leave("equal");
  allocator.enter({.job = "service", .priority = 1, .wanted = 2});
  EXPECT_EQ(allocator.to_give_up("training"), (std::vector{ids["d"], ids["c"]}));
  EXPECT_TRUE(allocator.to_give_up("training").empty()) << "once is enough";
  EXPECT_EQ(begin("service", 2), "") << "the nodes still work";
  allocator.release("training", ids["d"]);
  EXPECT_EQ(grow("training"), "") << "d is kept for the service";
  allocator.release("training", ids["c"]);
  EXPECT_EQ(begin("service", 2), "c d");
  allocator.enter({.job = "too much", .priority = 2, .wanted = 3});
  EXPECT_TRUE(allocator.to_give_up("training").empty()) << "what it could give is not enough";
  allocator.leave("too much");
  allocator.leave("service");
  EXPECT_EQ(grow("training"), "c d");
}

TEST_F(NodeAllocatorTest, TheLowestPriorityGivesFirstAndWhoCameLast) {
  std::map<std::string, MemberId> ids;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) ids[name] = join(name);
  for (const auto& [job, priority] : std::vector<std::pair<std::string, int>>{{"middle", 1}, {"old", 0}, {"new", 0}}) {
    allocator.enter({.job = job, .priority = priority, .is_elastic = true});
    EXPECT_NE(begin(job, 1, 2), "");
  }
  allocator.enter({.job = "first", .priority = 5, .wanted = 2});
  EXPECT_TRUE(allocator.to_give_up("middle").empty());
  EXPECT_EQ(allocator.to_give_up("old"), std::vector{ids["d"]});
  EXPECT_EQ(allocator.to_give_up("new"), std::vector{ids["f"]});
}

// Whatever jobs come, wait, grow, shrink and leave: no node has more than it can do, and somebody gets on.
TEST_F(NodeAllocatorTest, NoNodeIsEverFullerThanFullAndNoOrderOfJobsEndsInADeadlock) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return random() % n; };
    Membership nodes(0.5, 6);
    std::vector<MemberId> ids;
    for (unsigned i = 0; i < 1 + below(6); ++i) {
      NodeDescription description;
      description.set_name("n" + std::to_string(i));
      if (below(2) == 0) description.add_labels("x");
      ids.push_back(nodes.join(std::move(description), "", std::make_shared<Line>(), {0}).id);
    }
    NodeAllocator all(nodes);
    struct Running {
      NodeClaim claim;
      std::set<MemberId> has;
    };
    std::map<std::string, Running> jobs;
    const auto check = [&] {
      std::map<MemberId, double> used;
      for (const auto& [name, job] : jobs)
        for (const MemberId id : job.has) used[id] += job.claim.share;
      for (const auto& [id, sum] : used) ASSERT_LE(sum, 1.001) << "seed " << seed;
    };
    const auto turn = [&](Running& job) {
      const auto take = [&](const std::vector<Member>& given) {
        for (const Member& node : given) {
          ASSERT_TRUE(job.has.insert(node.id).second) << "seed " << seed;
          for (const std::string& label : job.claim.labels)
            ASSERT_EQ(node.description.labels_size() > 0 && node.description.labels(0) == label, true);
        }
      };
      if (job.has.empty()) {
        take(*all.begin(job.claim.job, [&](std::vector<Member> free, std::size_t) {
          if (free.size() < job.claim.wanted) return std::vector<Member>();
          if (!job.claim.is_elastic) free.resize(job.claim.wanted);
          return free;
        }));
        return;
      }
      if (!job.claim.is_elastic) return;
      for (const MemberId id : all.to_give_up(job.claim.job)) {
        ASSERT_EQ(job.has.erase(id), 1u);
        ASSERT_FALSE(job.has.empty()) << "it keeps one";
        all.release(job.claim.job, id);
      }
      take(all.grow(job.claim.job, 1000, [](MemberId) { return true; }));
    };
    for (int step = 0; step < 60; ++step) {
      const std::string name = "job-" + std::to_string(step);
      if (below(3) == 0) {
        NodeClaim claim{.job = name,
                        .priority = static_cast<int>(below(3)),
                        .share = below(2) == 0 ? 1 : 0.5,
                        .wanted = 1 + below(3),
                        .is_elastic = below(2) == 0};
        if (claim.is_elastic) claim.wanted = 1;
        if (below(3) == 0) claim.labels = {"x"};
        all.enter(claim);
        jobs[name].claim = claim;
      }
      for (auto& [ignored, job] : jobs) turn(job);
      check();
      if (!jobs.empty() && below(4) == 0) {
        const auto gone =
            std::next(jobs.begin(), static_cast<std::ptrdiff_t>(below(static_cast<unsigned>(jobs.size()))));
        all.leave(gone->first);
        jobs.erase(gone);
      }
    }
    // from now on jobs only end: each that can ever begin does
    for (int round = 0; round < 200 && !jobs.empty(); ++round) {
      for (auto& [ignored, job] : jobs) turn(job);
      check();
      const auto done = std::ranges::find_if(jobs, [](const auto& job) { return !job.second.has.empty(); });
      if (done == jobs.end()) break;
      all.leave(done->first);
      jobs.erase(done);
    }
    for (const auto& [name, job] : jobs) {
      std::size_t fitting = 0;
      for (const Member& node : nodes.alive())
        fitting += job.claim.labels.empty() || node.description.labels_size() > 0 ? 1 : 0;
      EXPECT_LT(fitting, job.claim.wanted) << "seed " << seed << ": " << name << " could have begun";
    }
  }
}

}  // namespace
}  // namespace mangrove::cluster
