#include "mangrove/cli/training_phases.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/base/temporary_folder.h"
#include "tests/cli/process.h"

#include "mangrove/data/leaves.h"
#include "mangrove/graph/onnx.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;
using testing::Finished;
using testing::Process;
using testing::program;
using testing::run_program;
using testing::TemporaryFolder;

constexpr Seconds kTrainingPhasesLong = 200;

/// What run_training_phases() gives to play, with a player that only writes what a job of that phase leaves.
struct Phases : ::testing::Test {
  struct Played {
    train::TrainJob job;
    RunPhase phase;
  };

  Phases() {
    settings.init_from = "mobilenetv2-0.25";
    settings.freeze = "backbone";
    settings.job.set_epochs(8);
    settings.head_epochs = 5;
    dataset = data::make_leaves(data::Split::train);
    job.set_model(encode_onnx(initial_network(settings, *dataset).value()));
    job.set_epochs(settings.job.epochs());
    job.set_learning_rate(0.001f);
  }
  Result<json> run() {
    played.clear();
    return run_training_phases(
        settings, job, folder, [&](const train::TrainJob& part, const RunPhase& phase) -> Result<json> {
          played.push_back({part, phase});
          if (fails_at == played.size()) return make_error(Code::cancelled, "stopped");
          EXPECT_EQ(folder.write_model(phase.file_prefix, "what has been trained").ok(), !disk_is_full);
          return json{{"epochs", part.epochs()}, {"train_seconds", 2.0}, {"accuracy", 0.5}, {"best_epoch", 2}};
        });
  }

  TemporaryFolder temporary;
  RunFolder folder = RunFolder::create((temporary / "run").string(), "train").value();
  TrainSettings settings;
  std::shared_ptr<const data::Dataset> dataset;
  train::TrainJob job;
  std::vector<Played> played;
  std::size_t fails_at = 0;  // counted from 1
  bool disk_is_full = false;
};

TEST_F(Phases, TheHeadComesFirstThenEverythingAtALowerRate) {
  const auto result = run();
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(played.size(), 2u);
  const auto& [head, of_head] = played[0];
  EXPECT_EQ(head.epochs(), 5);
  EXPECT_EQ(head.learning_rate(), 0.001f);
  EXPECT_EQ(parse_onnx(head.model())->parameters(), (std::vector<std::string>{"head.fc.weight", "head.fc.bias"}));
  EXPECT_FALSE(head.frozen().empty());
  EXPECT_EQ(of_head.epochs, 8);
  EXPECT_EQ(of_head.epochs_done, 0);
  const auto& [all, of_all] = played[1];
  EXPECT_EQ(all.epochs(), 3);
  EXPECT_EQ(all.learning_rate(), 1e-5f);
  EXPECT_EQ(all.model(), "what has been trained");
  EXPECT_TRUE(all.frozen().empty());
  EXPECT_EQ(of_all.epochs_done, 5);
  EXPECT_EQ(of_all.seconds_done, 2.0);
  EXPECT_EQ((*result)["epochs"], 8);
  EXPECT_EQ((*result)["best_epoch"], 7);
  EXPECT_EQ((*result)["head"]["epochs"], 5);
}

TEST_F(Phases, ThatWouldEachSpendABudgetOfPrivacyAreRefused) {
  settings.job.set_privacy("epsilon=2,delta=1e-5");
  const Status both = check_transfer(settings);
  ASSERT_FALSE(both.ok());
  EXPECT_EQ(both.code(), Code::invalid_argument);
  EXPECT_EQ(both.error().message,
            "privacy: each phase of freeze would spend all of epsilon; use head_epochs 8, so that only the head is "
            "trained, or freeze none");
  settings.head_epochs = 8;
  EXPECT_TRUE(check_transfer(settings).ok());
  settings.head_epochs = 5;
  settings.job.set_privacy("none");
  EXPECT_TRUE(check_transfer(settings).ok());
  settings.job.set_privacy("epsilon=2,delta=1e-5");
  settings.freeze = "none";
  EXPECT_TRUE(check_transfer(settings).ok());
}

TEST_F(Phases, AHeadThatTheDiskDoesNotTakeIsFineTunedAllTheSame) {
  fs::remove_all(folder.path());
  ASSERT_TRUE(write_file_atomically(folder.path(), "a file in its place").ok());
  disk_is_full = true;
  const auto result = run();
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(played.size(), 2u);
  EXPECT_EQ(played[1].job.model(), "what has been trained");
  for (const char* file : {"head-model.onnx", "head-result.json", "model.onnx"})
    EXPECT_TRUE(folder.unsaved().contains(file)) << file;
}

TEST_F(Phases, WithoutTheHeadsModelARunIsResumedFromWhatThereIs) {
  ASSERT_TRUE(run().ok());
  settings.resume = folder.path().string();
  fs::remove(folder.path() / "head-model.onnx");
  ASSERT_TRUE(write_file_atomically(folder.checkpoint_path(RunFolder::kHeadPrefix), "of the head").ok());
  ASSERT_TRUE(run().ok());
  ASSERT_EQ(played.size(), 2u) << "there is nothing to fine-tune: the head is trained from its checkpoint";
  EXPECT_EQ(played[0].job.resume_from(), "of the head");
  fs::remove(folder.path() / "head-model.onnx");
  ASSERT_TRUE(write_file_atomically(folder.checkpoint_path(), "of everything").ok());
  ASSERT_TRUE(run().ok());
  ASSERT_EQ(played.size(), 1u) << "the checkpoint of the fine tuning has all that is needed";
  EXPECT_EQ(played[0].job.resume_from(), "of everything");
  EXPECT_EQ(played[0].job.model(), job.model());
}

TEST_F(Phases, WithoutEpochsForItThereIsNoSecondPhase) {
  settings.job.set_epochs(5);
  job.set_epochs(5);
  ASSERT_TRUE(run().ok());
  ASSERT_EQ(played.size(), 1u);
  EXPECT_EQ(played[0].job.epochs(), 5);
  EXPECT_FALSE(played[0].job.frozen().empty());
  EXPECT_EQ(played[0].phase.name, "");
}

TEST_F(Phases, NothingIsFrozenUnlessAskedFor) {
  settings.freeze = "none";
  ASSERT_TRUE(run().ok());
  ASSERT_EQ(played.size(), 1u);
  EXPECT_TRUE(played[0].job.frozen().empty());
  EXPECT_EQ(played[0].job.model(), job.model());
  EXPECT_EQ(played[0].job.learning_rate(), 0.001f);
}

TEST_F(Phases, AnyNodeMayBeTheLastFrozenOne) {
  settings.freeze = "block17.project.bn";
  ASSERT_TRUE(run().ok());
  EXPECT_GT(parse_onnx(played[0].job.model())->parameters().size(), 2u);
  settings.freeze = "block17.project.nb";
  const auto unknown = run();
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.code(), Code::not_found);
  EXPECT_NE(unknown.error().message.find("freeze: graph 'mobilenetv2-0.25' has no node 'block17.project.nb'; did you "
                                         "mean 'block17.project.bn'?"),
            std::string::npos)
      << unknown.error().message;
  settings.freeze = "block3.expand";  // beside it a residual connection goes past
  const auto passed = run();
  ASSERT_FALSE(passed.ok());
  EXPECT_EQ(passed.code(), Code::invalid_argument);
}

TEST_F(Phases, AResumedRunGoesOnInThePhaseThatItWasIn) {
  fails_at = 1;
  EXPECT_EQ(run().code(), Code::cancelled);
  ASSERT_TRUE(write_file_atomically(folder.checkpoint_path(RunFolder::kHeadPrefix), "of the head").ok());
  EXPECT_NE(folder.with_resume_hint({Code::cancelled, "stopped"}).message.find("--resume"), std::string::npos);
  settings.resume = folder.path().string();
  fails_at = 2;
  EXPECT_EQ(run().code(), Code::cancelled);
  ASSERT_EQ(played.size(), 2u);
  EXPECT_EQ(played[0].job.resume_from(), "of the head");
  EXPECT_EQ(played[1].job.resume_from(), "") << "it had not begun";
  ASSERT_TRUE(write_file_atomically(folder.checkpoint_path(), "of everything").ok());
  fails_at = 0;
  const auto result = run();
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(played.size(), 1u) << "the head is done";
  EXPECT_EQ(played[0].job.resume_from(), "of everything");
  EXPECT_EQ(played[0].job.model(), "what has been trained");
  EXPECT_EQ((*result)["head"]["accuracy"], 0.5);
  ASSERT_TRUE(write_file_atomically(folder.head_result_path(), "{").ok());
  EXPECT_EQ(run().code(), Code::data_loss);
  ASSERT_TRUE(folder.begin("").ok());
  EXPECT_FALSE(fs::exists(folder.head_result_path())) << "a new run in the folder begins anew";
}

/// The command on a few leaves.
struct TransferCommand : ::testing::Test {
  std::vector<std::string> command(const fs::path& run_dir, const std::string& init_from = "mobilenetv2-0.25",
                                   const std::string& freeze = "backbone") const {
    std::vector<std::string> all = {program(), "train", "--json", "--data", "leaves", "--local", "2"};
    for (const auto& [flag, value] : std::map<std::string, std::string>{{"--init-from", init_from},
                                                                        {"--freeze", freeze},
                                                                        {"--limit", "256"},
                                                                        {"--batch", "16"},
                                                                        {"--epochs", "8"},
                                                                        {"--head-epochs", "4"},
                                                                        {"--checkpoint-every", "1ms"},
                                                                        {"--run-dir", run_dir.string()}}) {
      all.push_back(flag);
      all.push_back(value);
    }
    return all;
  }
  TemporaryFolder folder;
};

TEST_F(TransferCommand, StoppedInEitherPhaseAndResumedItEndsBitEqual) {
  const Finished whole = run_program(command(folder / "whole"), kTrainingPhasesLong);
  ASSERT_EQ(whole.status, 0) << whole.err;
  const auto expected = read_file(folder / "whole" / "model.onnx");
  ASSERT_TRUE(expected.ok());
  for (const std::string checkpoint : {"head-checkpoint.safetensors", "checkpoint.safetensors"}) {
    const fs::path run_dir = folder / ("stopped-" + checkpoint);
    Process stopped(command(run_dir));
    const bool began = stopped.wait_until([&] { return fs::exists(run_dir / checkpoint); }, kTrainingPhasesLong);
    stopped.signal(SIGINT);
    ASSERT_TRUE(began) << stopped.err();
    ASSERT_EQ(stopped.wait(kTrainingPhasesLong), 130) << stopped.err();
    fs::remove(run_dir / "head-model.onnx");  // where there is one, a checkpoint of the fine tuning is enough
    const Finished resumed =
        run_program({program(), "train", "--resume", run_dir.string(), "--json"}, kTrainingPhasesLong);
    ASSERT_EQ(resumed.status, 0) << resumed.err;
    const auto model = read_file(run_dir / "model.onnx");
    ASSERT_TRUE(model.ok());
    EXPECT_TRUE(*model == *expected) << checkpoint;
    EXPECT_EQ(json::parse(resumed.out)["confusion"], json::parse(whole.out)["confusion"]);
  }
}

TEST_F(TransferCommand, MistakesAreUsageErrors) {
  const auto error_of = [&](const std::string& init_from, const std::string& freeze) {
    const Finished run = run_program(command(folder / "bad", init_from, freeze), kTrainingPhasesLong);
    EXPECT_EQ(run.status, 2) << run.err;
    return json::parse(run.out)["error"]["message"].get<std::string>();
  };
  const auto expect_error = [&](const std::string& init_from, const std::string& freeze, const std::string& part) {
    const std::string error = error_of(init_from, freeze);
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  expect_error("lenet", "backbone", "init_from: graph 'lenet': it has no global average pooling");
  expect_error("/no/such.onnx", "none", "/no/such.onnx");
  expect_error("mobilenetv2-0.25", "backbon", "freeze: graph 'mobilenetv2-0.25' has no node 'backbon'");
  expect_error("", "backbone", "freeze: 'backbone' is for a network that has learnt something");
}

TEST_F(TransferCommand, TheExampleRunsInBothPhases) {
  const fs::path run_dir = folder / "run";
  const Finished run =
      run_program({program(), "run", testing::repository_path("examples/tomato-transfer.yaml"), "--data-dir",
                   (folder / "no-data").string(), "--init-from", "mobilenetv2-0.25", "--limit", "128", "--epochs", "3",
                   "--head-epochs", "2", "--json", "--run-dir", run_dir.string()},
                  kTrainingPhasesLong);
  ASSERT_EQ(run.status, 0) << run.err;
  const json train = json::parse(run.out)["train"];
  EXPECT_EQ(train["data"], "leaves") << "PlantVillage is not there";
  EXPECT_EQ(train["epochs"], 3);
  EXPECT_EQ(train["head"]["epochs"], 2);
  for (const char* key : {"accuracy", "macro_f1", "confusion", "train_seconds"}) {
    EXPECT_TRUE(train.contains(key)) << key;
    EXPECT_TRUE(train["head"].contains(key)) << key;
  }
  std::vector<std::pair<int, std::string>> epochs;
  std::istringstream metrics(*read_file(run_dir / "metrics.jsonl"));
  for (std::string text; std::getline(metrics, text);) {
    const json line = json::parse(text);
    if (line["kind"] == "epoch") epochs.emplace_back(line["epoch"].get<int>(), line["phase"].get<std::string>());
    if (line["kind"] == "progress" && line.contains("epoch")) {
      EXPECT_EQ(line["epochs"], 3) << text;
    }
  }
  EXPECT_EQ(epochs, (std::vector<std::pair<int, std::string>>{{1, "head"}, {2, "head"}, {3, "fine_tuning"}}));
  const std::string page = *read_file(run_dir / "report.html");
  EXPECT_NE(page.find("new head alone: macro F1"), std::string::npos);
  EXPECT_NE(page.find("Confusion matrix of the new head alone"), std::string::npos);
  for (const char* name : {"head-model.onnx", "model.onnx"}) {
    const auto model = load_onnx(run_dir / name);
    ASSERT_TRUE(model.ok()) << name;
    EXPECT_EQ(model->value(model->outputs()[0]).shape, (Shape{kBatch, 10})) << name;
  }
}

}  // namespace
}  // namespace mangrove::cli
