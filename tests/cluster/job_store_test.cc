#include "mangrove/cluster/job_store.h"

#include <gtest/gtest.h>

#include <fstream>
#include <optional>

#include "tests/base/small_disk.h"
#include "tests/base/temporary_folder.h"
#include "tests/cluster/scripted_role.h"

namespace mangrove::cluster {
namespace {

using testing::SmallDisk;
using testing::TemporaryFolder;

std::unique_ptr<JobStore> opened(const TemporaryFolder& folder) {
  auto store = JobStore::open(folder / "state");
  if (!store.ok()) ADD_FAILURE() << store.error().message;
  return std::move(*store);
}

Report checkpoint(int step, const std::string& content) {
  return {.kind = ReportKind::checkpoint,
          .json = R"({"epoch":1,"step":)" + std::to_string(step) + "}",
          .attachment = content};
}

Report epoch(std::int64_t number, double loss) {
  return {.kind = ReportKind::epoch,
          .json = R"({"epoch":)" + std::to_string(number) + R"(,"loss":)" + std::to_string(loss) + "}",
          .attachment = {}};
}

/// The only job that goes on; nothing: none does.
std::optional<JobStore::Interrupted> interrupted(JobStore& store) {
  const auto found = store.interrupted();
  EXPECT_TRUE(found.ok()) << found.error().message;
  EXPECT_LE(found->size(), 1u);
  return found->empty() ? std::nullopt : std::optional(found->front());
}

/// Begins a job, and gives it a node.
Status begin_with_a_node(JobStore& store, const std::string& id, const JobSpec& job = scripted_job("echo")) {
  MG_RETURN_IF_ERROR(store.begin(id, job));
  return store.set_members(id, {.version = 1, .all = {{0, "coordinator", true}, {1, "a", true}}});
}

/// As an admin sees them.
Result<std::vector<JobStatus>> list(JobStore& store) {
  return store.list([](const std::string&) { return true; });
}

TEST(JobStore, AJobThatHadNotEndedGoesOnFromItsLastCheckpoint) {
  const TemporaryFolder folder;
  {
    const auto store = opened(folder);
    ASSERT_TRUE(store->begin("job-1", scripted_job("echo", 2)).ok());
    const net::Members members{.version = 1,
                               .all = {{0, "coordinator", true}, {1, "a", true}, {2, "b", false}, {3, "b", true}}};
    ASSERT_TRUE(store->set_members("job-1", members).ok());
    ASSERT_TRUE(store->checkpoint("job-1", checkpoint(7, "seven")).ok());
    ASSERT_TRUE(store->checkpoint("job-1", checkpoint(9, "nine")).ok());
  }
  for (int starts = 2; starts < 4; ++starts) {
    const auto store = opened(folder);
    const auto found = interrupted(*store);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->id, "job-1");
    EXPECT_EQ(found->job.nodes(), 2);
    EXPECT_EQ(found->job.train().strategy(), "echo");
    EXPECT_EQ(found->job.train().resume_from(), "nine");
    EXPECT_EQ(found->nodes, 2u);
    EXPECT_EQ(found->starts, starts);
    const JobStatus status = list(*store)->front();
    EXPECT_EQ(status.state(), "running");
    EXPECT_EQ(status.step(), 9);
    EXPECT_EQ(status.nodes(), "a b");
    EXPECT_EQ(store->ended("job-1").code(), Code::failed_precondition);
    ASSERT_TRUE(store->checkpoint("job-1", checkpoint(9, "nine")).ok());  // it gets on
  }
}

TEST(JobStore, OnlyItsOwnerReadsWhatItKeeps) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "state");
  { std::ofstream(folder / "state/coordinator.db"); }
  fs::permissions(folder / "state/coordinator.db", fs::perms(0644));  // as of an earlier program
  const auto store = opened(folder);
  ASSERT_TRUE(store->begin("job-1", scripted_job("echo")).ok());
  ASSERT_TRUE(store->checkpoint("job-1", checkpoint(7, "seven")).ok());
  for (const auto& entry : fs::directory_iterator(folder / "state"))
    EXPECT_EQ(entry.status().permissions(), fs::perms(0600)) << entry.path();
}

TEST(JobStore, ATitleIsOneShortLineWhateverTheJobsTextsAre) {
  const TemporaryFolder folder;
  JobSpec hostile = scripted_job("echo");
  hostile.mutable_train()->set_data("\x1b[2Jglyphs\n");
  JobSpec long_one = scripted_job("echo");
  std::string euros = "x";
  for (int i = 0; i < 1000; ++i) euros += "\u20ac";
  long_one.mutable_train()->set_data(euros);
  const auto store = opened(folder);
  ASSERT_TRUE(store->begin("job-1", hostile).ok());
  ASSERT_TRUE(store->begin("job-2", long_one).ok());
  const auto jobs = list(*store);
  ASSERT_TRUE(jobs.ok());
  EXPECT_EQ(jobs->at(1).title(), "train ?[2Jglyphs?, echo");
  EXPECT_LE(jobs->at(0).title().size(), 203u);
  EXPECT_TRUE(jobs->at(0).title().ends_with("\u20ac...")) << jobs->at(0).title();
}

TEST(JobStore, WithoutACheckpointItBeginsAnew) {
  const TemporaryFolder folder;
  JobSpec job = scripted_job("echo");
  job.mutable_train()->set_resume_from("of an earlier run");
  ASSERT_TRUE(opened(folder)->begin("job-1", job).ok());
  EXPECT_EQ(interrupted(*opened(folder))->job.train().resume_from(), "of an earlier run");
}

TEST(JobStore, AJobThatTheCoordinatorDiedWithTwiceIsLeftAlone) {
  const TemporaryFolder folder;
  ASSERT_TRUE(begin_with_a_node(*opened(folder), "job-1").ok());
  EXPECT_TRUE(interrupted(*opened(folder))) << "once may be anything";
  const auto store = opened(folder);
  EXPECT_FALSE(interrupted(*store));
  EXPECT_EQ(list(*store)->front().state(), "failed");
  EXPECT_NE(list(*store)->front().message().find("the coordinator died 2 times while it ran this job"),
            std::string::npos)
      << list(*store)->front().message();
}

TEST(JobStore, WhatAJobThatIsLeftAloneCameToIsKept) {
  const TemporaryFolder folder;
  {
    const auto store = opened(folder);
    ASSERT_TRUE(begin_with_a_node(*store, "job-1").ok());
    ASSERT_TRUE(store->checkpoint("job-1", checkpoint(7, "seven")).ok());
  }
  EXPECT_TRUE(interrupted(*opened(folder)));
  EXPECT_FALSE(interrupted(*opened(folder)));
  const fs::path kept = folder / "state/job-1.last.safetensors";
  const auto store = opened(folder);
  EXPECT_EQ(*read_file(kept), "seven");
  EXPECT_NE(list(*store)->front().message().find(kept.string()), std::string::npos);
}

TEST(JobStore, ACoordinatorThatEndsInGoodOrderHasNotDied) {
  const TemporaryFolder folder;
  ASSERT_TRUE(begin_with_a_node(*opened(folder), "job-1").ok());
  for (int starts = 2; starts <= 5; ++starts) {
    const auto store = opened(folder);
    ASSERT_TRUE(store->suspend("job-1").ok());
    EXPECT_TRUE(interrupted(*store)) << starts;
    ASSERT_TRUE(store->suspend("job-1").ok());
  }
}

TEST(JobStore, AJobThatComesToNoCheckpointIsNotStartedForEver) {
  const TemporaryFolder folder;
  const auto store = opened(folder);
  ASSERT_TRUE(begin_with_a_node(*store, "job-1").ok());
  const auto again = [&] { return *store->again("job-1"); };
  for (int starts = 2; starts <= 5; ++starts) EXPECT_TRUE(again()) << starts;
  EXPECT_FALSE(again());
  EXPECT_EQ(list(*store)->front().state(), "failed");
  EXPECT_NE(list(*store)->front().message().find("5 times"), std::string::npos);
}

TEST(JobStore, AllJobsThatHadNotEndedGoOnInTheirOrder) {
  const TemporaryFolder folder;
  {
    const auto store = opened(folder);
    for (const char* id : {"job-1", "job-2", "job-3"}) ASSERT_TRUE(begin_with_a_node(*store, id).ok());
    ASSERT_TRUE(store->end("job-2", {}, {}).ok());
    ASSERT_TRUE(store->checkpoint("job-3", checkpoint(4, "four")).ok());
  }
  const auto found = opened(folder)->interrupted();
  ASSERT_TRUE(found.ok()) << found.error().message;
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ(found->at(0).id, "job-1");
  EXPECT_EQ(found->at(1).id, "job-3");
  EXPECT_EQ(found->at(1).job.train().resume_from(), "four");
}

TEST(JobStore, AJobThatWaitedForNodesIsNotToBlameForTheCoordinatorsDeath) {
  const TemporaryFolder folder;
  ASSERT_TRUE(opened(folder)->begin("job-1", scripted_job("echo", 7)).ok());
  for (int deaths = 1; deaths <= 10; ++deaths) {
    const auto found = interrupted(*opened(folder));
    ASSERT_TRUE(found) << deaths;
    EXPECT_EQ(found->starts, 1);
  }
}

TEST(JobStore, KeepsHowAJobEnded) {
  const TemporaryFolder folder;
  {
    const auto store = opened(folder);
    for (const char* id : {"good", "bad"}) ASSERT_TRUE(store->begin(id, scripted_job("echo")).ok());
    ASSERT_TRUE(
        store->end("good", {}, Report{.kind = ReportKind::result, .json = R"({"a":1})", .attachment = "model"}).ok());
    ASSERT_TRUE(store->end("bad", make_error(Code::data_loss, "sample 3 is broken"), {}).ok());
  }
  const auto store = opened(folder);
  EXPECT_FALSE(interrupted(*store)) << "both have ended";
  const auto good = store->ended("good"), bad = store->ended("bad");
  ASSERT_TRUE(good.ok() && bad.ok());
  EXPECT_TRUE(good->status.ok());
  EXPECT_EQ(good->result->json, R"({"a":1})");
  EXPECT_EQ(good->result->attachment, "model");
  EXPECT_EQ(bad->status.code(), Code::data_loss);
  EXPECT_EQ(bad->status.error().message, "sample 3 is broken");
  EXPECT_FALSE(bad->result);
  EXPECT_EQ(list(*store)->front().id(), "bad") << "the newest first";
  EXPECT_EQ(list(*store)->front().state(), "failed");
  EXPECT_EQ(store->ended("other").code(), Code::not_found);
}

TEST(JobStore, ForgetsTheOldestOfManyThatHaveEnded) {
  const TemporaryFolder folder;
  const auto store = opened(folder);
  for (int i = 0; i < 70; ++i) {
    const std::string id = "job-" + std::to_string(i);
    ASSERT_TRUE(store->begin(id, scripted_job("echo")).ok());
    ASSERT_TRUE(store->checkpoint(id, checkpoint(1, "c")).ok());
    ASSERT_TRUE(store->end(id, {}, Report{.kind = ReportKind::result, .json = "{}", .attachment = "model"}).ok());
  }
  EXPECT_EQ(list(*store)->size(), 64u);
  EXPECT_FALSE(fs::exists(folder / "state/job-0.onnx"));
  EXPECT_FALSE(fs::exists(folder / "state/job-0.checkpoint.safetensors"));
  EXPECT_TRUE(fs::exists(folder / "state/job-69.onnx"));
  EXPECT_FALSE(fs::exists(folder / "state/job-69.checkpoint.safetensors")) << "it has ended";
}

TEST(JobStore, CheckpointsOfJobsThatHadEndedBeforeAreRemoved) {
  const TemporaryFolder folder;
  ASSERT_TRUE(opened(folder)->begin("job-1", scripted_job("echo")).ok());
  ASSERT_TRUE(opened(folder)->end("job-1", {}, {}).ok());
  const fs::path old = folder / "state/job-1.checkpoint.safetensors";
  ASSERT_TRUE(write_file_atomically(old, "of an older program").ok());
  opened(folder);
  EXPECT_FALSE(fs::exists(old));
}

/// A store on a small disk with a job that has a checkpoint and has trained `model`, when so many bytes are left.
struct StoreOnFullDisk : ::testing::Test {
  void SetUp() override {
    if (!disk.is_there()) GTEST_SKIP() << "only root may make a small disk";
    store = *JobStore::open(disk / "state");
    ASSERT_TRUE(store->begin("job-1", scripted_job("echo")).ok());
    ASSERT_TRUE(store->checkpoint("job-1", checkpoint(3, std::string(600'000, 'c'))).ok());
    disk.fill(0);
  }
  Status end(const std::string& result = "{}") {
    return store->end("job-1", {},
                      Report{.kind = ReportKind::result, .json = result, .attachment = std::string(400'000, 'm')});
  }
  void open_again() {
    store.reset();
    store = *JobStore::open(disk / "state");
  }

  SmallDisk disk{2 << 20};
  std::unique_ptr<JobStore> store;
};

TEST_F(StoreOnFullDisk, TheCheckpointMakesRoomForTheEndAndTheModel) {
  const Status ended = end();
  EXPECT_TRUE(ended.ok()) << ended.error().message;
  EXPECT_EQ(list(*store)->front().state(), "done");
  open_again();
  EXPECT_FALSE(interrupted(*store));
  EXPECT_EQ(store->ended("job-1")->result->attachment.size(), 400'000u);
}

TEST_F(StoreOnFullDisk, AJobWhoseEndCannotBeWrittenIsNotTrainedAgain) {
  fs::remove(disk / "state/job-1.checkpoint.safetensors");
  disk.fill(0);
  EXPECT_EQ(end("\"" + std::string(300'000, 'r') + "\"").code(), Code::resource_exhausted);
  EXPECT_EQ(list(*store)->front().state(), "done");
  store.reset();
  fs::remove(disk / "filler");
  open_again();
  EXPECT_FALSE(interrupted(*store));
  EXPECT_EQ(list(*store)->front().state(), "failed");
  EXPECT_NE(list(*store)->front().message().find("disk of the state folder was full"), std::string::npos);
}

void expect_job_refused(const TemporaryFolder& folder, Code code, const std::string& why) {
  const auto store = JobStore::open(folder / "state");
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.code(), code) << store.error().message;
  EXPECT_NE(store.error().message.find("state/coordinator.db"), std::string::npos) << store.error().message;
  EXPECT_NE(store.error().message.find(why), std::string::npos) << store.error().message;
}

TEST(JobStore, RefusesWhatIsNoDatabase) {
  const TemporaryFolder folder;
  opened(folder);
  ASSERT_TRUE(write_file_atomically(folder / "state/coordinator.db", std::string(3000, 'x')).ok());
  expect_job_refused(folder, Code::data_loss, "damaged");
}

TEST(JobStore, RefusesADamagedOneWhereverItIs) {
  const TemporaryFolder folder;
  ASSERT_TRUE(opened(folder)->begin("job-1", scripted_job(std::string(20'000, 'j'))).ok());
  const fs::path path = folder / "state/coordinator.db";
  const std::string good = *read_file(path);
  for (std::size_t at = 0; at + 100 < good.size(); at += 1024) {
    std::string bad = good;
    for (std::size_t i = 0; i < 100; ++i) bad[at + i] = static_cast<char>(bad[at + i] ^ 0x5a);
    ASSERT_TRUE(write_file_atomically(path, bad).ok());
    const auto store = JobStore::open(folder / "state");  // not every byte matters
    if (store.ok()) (void)(*store)->interrupted();
  }
  ASSERT_TRUE(write_file_atomically(path, good.substr(0, good.size() / 2)).ok());
  expect_job_refused(folder, Code::data_loss, "damaged");
}

TEST(JobStore, KnowsWhoseAJobIs) {
  const TemporaryFolder folder;
  ASSERT_TRUE(opened(folder)->begin("job-1", scripted_job("echo"), "mangrove://client/anna").ok());
  EXPECT_EQ(interrupted(*opened(folder))->owner, "mangrove://client/anna");
  ASSERT_TRUE(
      opened(folder)->end("job-1", Status(), Report{.kind = ReportKind::result, .json = "{}", .attachment = {}}).ok());
  EXPECT_EQ(opened(folder)->ended("job-1")->owner, "mangrove://client/anna");
}

TEST(JobStore, BringsTablesWithoutOwnersUpToDate) {
  const TemporaryFolder folder;
  ASSERT_TRUE(opened(folder)->begin("job-1", scripted_job("echo")).ok());
  {
    Database tables = std::move(*Database::open(folder / "state/coordinator.db"));
    ASSERT_TRUE(tables.run("ALTER TABLE jobs DROP COLUMN owner").ok());
    ASSERT_TRUE(tables.run("DROP TABLE attempts").ok());
    ASSERT_TRUE(tables.run("DROP TABLE epochs").ok());
    ASSERT_TRUE(tables.run("PRAGMA user_version = 1").ok());
  }
  const auto store = opened(folder);
  EXPECT_EQ(interrupted(*store)->owner, "");
  EXPECT_TRUE(store->begin("job-2", scripted_job("echo"), "mangrove://client/anna").ok());
  EXPECT_TRUE(store->epoch("job-2", 1, epoch(1, 0.5)).ok());
}

TEST(JobStore, BringsTablesWithoutEpochsUpToDate) {
  const TemporaryFolder folder;
  ASSERT_TRUE(opened(folder)->begin("job-1", scripted_job("echo")).ok());
  {
    Database tables = std::move(*Database::open(folder / "state/coordinator.db"));
    ASSERT_TRUE(tables.run("DROP TABLE epochs").ok());
    ASSERT_TRUE(tables.run("PRAGMA user_version = 2").ok());
  }
  ASSERT_TRUE(opened(folder)->epoch("job-1", 1, epoch(1, 0.5)).ok());
  EXPECT_EQ(interrupted(*opened(folder))->epochs.size(), 1u);
}

TEST(JobStore, KeepsTheEpochsOfAJobUntilItHasEnded) {
  const TemporaryFolder folder;
  auto store = opened(folder);
  for (const char* job : {"job-1", "job-2"}) {
    ASSERT_TRUE(store->begin(job, scripted_job("echo")).ok());
    for (const int number : {1, 2, 3}) ASSERT_TRUE(store->epoch(job, number, epoch(number, 0.5)).ok());
  }
  ASSERT_TRUE(store->epoch("job-1", 2, epoch(2, 0.25)).ok()) << "made again";
  const auto jobs = store->interrupted();
  ASSERT_TRUE(jobs.ok()) << jobs.error().message;
  ASSERT_EQ(jobs->size(), 2u);
  EXPECT_EQ(jobs->at(1).epochs.size(), 3u);
  ASSERT_EQ(jobs->at(0).epochs.size(), 2u);
  EXPECT_EQ(jobs->at(0).epochs[1].json, epoch(2, 0.25).json);
  ASSERT_TRUE(store->epoch("job-1", JobStore::kMostEpochs + 1, epoch(JobStore::kMostEpochs + 1, 0.1)).ok());
  EXPECT_EQ(store->interrupted()->at(0).epochs.size(), 2u) << "the oldest makes room";
  ASSERT_TRUE(store->end("job-1", Status(), {}).ok());
  store.reset();
  Database tables = std::move(*Database::open(folder / "state/coordinator.db"));
  const auto left = tables.run("SELECT DISTINCT job FROM epochs");
  ASSERT_TRUE(left.ok()) << left.error().message;
  ASSERT_EQ(left->size(), 1u);
}

TEST(JobStore, RefusesOneOfANewerProgram) {
  const TemporaryFolder folder;
  opened(folder);
  ASSERT_TRUE(Database::open(folder / "state/coordinator.db")->run("PRAGMA user_version = 99").ok());
  expect_job_refused(folder, Code::unimplemented, "version 99");
}

TEST(JobStore, IsOfOneCoordinatorAlone) {
  const TemporaryFolder folder;
  const auto store = opened(folder);
  expect_job_refused(folder, Code::failed_precondition, "in use");
}

TEST(JobStore, KeepsNoLongMessages) {
  const TemporaryFolder folder;
  const auto store = opened(folder);
  ASSERT_TRUE(store->begin("job-1", scripted_job("echo")).ok());
  ASSERT_TRUE(store->end("job-1", make_error(Code::not_found, std::string(1'000'000, 'x')), {}).ok());
  EXPECT_EQ(list(*store)->front().message().size(), 4096u);
  EXPECT_EQ(store->ended("job-1")->status.error().message.size(), 4096u);
}

}  // namespace
}  // namespace mangrove::cluster
