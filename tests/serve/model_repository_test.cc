#include "mangrove/serve/model_repository.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/base/temporary_folder.h"
#include "tests/serve/answers.h"
#include "tests/serve/served_networks.h"

#include "mangrove/graph/onnx.h"

namespace mangrove::serve {
namespace {

Result<Graph> read(const ModelOptions& options) {
  return load_onnx(options.file);
}

/// x [N, 3] -> y [N, 3], x times `factor`. Files of other factors have other sizes.
void save_times(const fs::path& file, int factor) {
  GraphParts parts;
  parts.name = "times" + std::string(static_cast<std::size_t>(factor), '!');
  parts.inputs = {{"x", {DType::f32, {kBatch, 3}}}};
  parts.outputs = {"y"};
  parts.nodes = {{"mul", "Mul", {}, {"x", "factor"}, {"y"}}};
  const auto number = static_cast<float>(factor);
  parts.initializers = {{"factor", Tensor::of<float>({3}, {number, number, number})}};
  fs::create_directories(file.parent_path());
  const Status saved = save_onnx(*Graph::create(std::move(parts)), file);
  ASSERT_TRUE(saved.ok()) << saved.error().message;
}

InferenceRequest ones() {
  return request_of({{"x", Tensor::of<float>({1, 3}, {1, 1, 1})}});
}

struct Answered {
  std::string version;
  float factor = 0;
  bool operator==(const Answered&) const = default;
};

/// Who answers, and with which factor.
Answered answered(const Result<InferenceResponse>& answer) {
  if (!answer.ok()) return {answer.error().message};
  return {answer->version, answer->outputs[0].tensor.as<float>()[0]};
}
Answered ask_model(const ModelRepository& repository, const std::string& name, const std::string& version = "") {
  const auto model = repository.find(name, version);
  return model.ok() ? answered(ask(**model, ones())) : Answered{model.error().message};
}

std::vector<std::string> shown(const ModelRepository& repository) {
  std::vector<std::string> lines;
  for (const IndexEntry& entry : repository.index())
    lines.push_back(entry.name + " " + entry.version + " " + entry.state + (entry.reason.empty() ? "" : " !"));
  return lines;
}
using Lines = std::vector<std::string>;

class ModelRepositoryTest : public ::testing::Test {
 protected:
  ModelOptions options() const { return {.file = (folder / "m.onnx").string(), .backend = "portable", .max_wait = 0}; }
  void save(int factor) { save_times(folder / "m.onnx", factor); }

  const mangrove::testing::TemporaryFolder folder;
  ModelRepository repository{&read};
};

/// Waits for a condition. Ends the program where it does not come in a minute.
template <class Condition>
void wait_until(const Condition& condition) {
  SteadyClock clock;
  const Deadline deadline = clock.after(60);
  while (!condition()) {
    MG_CHECK(clock.now() < deadline);
    std::this_thread::yield();
  }
}

TEST_F(ModelRepositoryTest, LoadsAModelAndUnloadsIt) {
  save(2);
  ASSERT_TRUE(repository.add("m", options()).ok());
  EXPECT_FALSE(repository.is_ready());
  EXPECT_EQ(shown(repository), (Lines{"m  UNAVAILABLE"}));
  EXPECT_EQ(repository.find("m").error().message, "model 'm' is not loaded");
  EXPECT_EQ(repository.find("m").code(), Code::unavailable);
  ASSERT_TRUE(repository.load("m").ok());
  EXPECT_TRUE(repository.is_ready());
  EXPECT_EQ(shown(repository), (Lines{"m 1 READY"}));
  EXPECT_EQ(ask_model(repository, "m"), (Answered{"1", 2}));
  EXPECT_EQ(ask_model(repository, "m", "1"), (Answered{"1", 2}));
  ASSERT_TRUE(repository.unload("m").ok());
  EXPECT_EQ(shown(repository), (Lines{"m 1 UNAVAILABLE"}));
  EXPECT_EQ(repository.find("m").code(), Code::unavailable);
  EXPECT_TRUE(repository.is_ready());  // nobody wants it now
  ASSERT_TRUE(repository.load("m").ok());
  EXPECT_EQ(shown(repository), (Lines{"m 1 READY"}));
}

TEST_F(ModelRepositoryTest, NamesWhatItDoesNotHave) {
  save(2);
  ASSERT_TRUE(repository.add("lenet", options()).ok());
  ASSERT_TRUE(repository.load("lenet").ok());
  EXPECT_EQ(repository.find("lnet").error().message, "unknown model 'lnet'; did you mean 'lenet'?");
  EXPECT_EQ(repository.find("lnet").code(), Code::not_found);
  EXPECT_EQ(repository.load("lnet").code(), Code::not_found);
  EXPECT_EQ(repository.unload("lnet").code(), Code::not_found);
  EXPECT_EQ(repository.load("../lenet").code(), Code::not_found);
  EXPECT_EQ(repository.find("lenet", "2").error().message, "model 'lenet' has no version '2'; version 1 is ready");
  EXPECT_EQ(repository.find("lenet", "2").code(), Code::not_found);
  EXPECT_EQ(repository.add("lenet", options()).error().message, "there is a model 'lenet' already");
  EXPECT_EQ(repository.add("a/b", options()).code(), Code::invalid_argument);
}

TEST_F(ModelRepositoryTest, AChangedFileIsTheNextVersion) {
  save(2);
  ASSERT_TRUE(repository.add("m", options()).ok());
  ASSERT_TRUE(repository.load("m").ok());
  ASSERT_TRUE(repository.load("m").ok());
  EXPECT_EQ(ask_model(repository, "m"), (Answered{"1", 2}));
  save(3);
  ASSERT_TRUE(repository.load("m").ok());
  EXPECT_EQ(ask_model(repository, "m"), (Answered{"2", 3}));
  EXPECT_EQ(shown(repository), (Lines{"m 2 READY"}));
}

TEST_F(ModelRepositoryTest, AFileThatCannotBeLoadedLeavesTheVersionBefore) {
  save(2);
  ASSERT_TRUE(repository.add("m", options()).ok());
  ASSERT_TRUE(repository.load("m").ok());
  ASSERT_TRUE(write_file_atomically(folder / "m.onnx", "no network").ok());
  const Status failed = repository.load("m");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.code(), Code::data_loss);
  EXPECT_EQ(ask_model(repository, "m"), (Answered{"1", 2}));
  EXPECT_EQ(shown(repository), (Lines{"m 1 READY", "m 2 UNAVAILABLE !"}));
  EXPECT_EQ(repository.index()[1].reason, failed.error().message);
  EXPECT_EQ(repository.find("m", "2").code(), Code::unavailable);
  EXPECT_TRUE(repository.is_ready());
  fs::remove(folder / "m.onnx");
  EXPECT_EQ(repository.load("m").code(), Code::not_found);
  save(4);
  ASSERT_TRUE(repository.load("m").ok());
  EXPECT_EQ(ask_model(repository, "m"), (Answered{"2", 4}));
  EXPECT_EQ(shown(repository), (Lines{"m 2 READY"}));
}

TEST_F(ModelRepositoryTest, TheOldVersionFinishesWhatItHas) {
  save(2);
  ModelOptions one_by_one = options();
  one_by_one.max_batch = 1;
  ASSERT_TRUE(repository.add("m", one_by_one).ok());
  ASSERT_TRUE(repository.load("m").ok());
  const Answers answers;
  Gate gate;
  {
    const auto old = repository.find("m");
    ASSERT_TRUE(old.ok());
    (*old)->infer(ones(), gate.sink());
    gate.wait_until_held();
    for (const char* name : {"first", "second"}) (*old)->infer(ones(), answers.sink(name));
  }
  save(3);
  Status replaced = make_error(Code::internal, "not yet");
  {
    const std::jthread loading([&] { replaced = repository.load("m"); });
    wait_until([&] { return repository.find("m", "2").ok(); });
    EXPECT_EQ(ask_model(repository, "m"), (Answered{"2", 3}));
    EXPECT_EQ(shown(repository), (Lines{"m 1 UNLOADING", "m 2 READY"}));
    EXPECT_EQ(repository.find("m", "1").error().message, "model 'm' version 1 is being unloaded");
    EXPECT_EQ(repository.load("m").error().message, "model 'm' is being loaded or unloaded; try again later");
    EXPECT_FALSE(answers.has("first"));
    gate.open();
  }
  EXPECT_TRUE(replaced.ok()) << replaced.error().message;
  EXPECT_TRUE(answers.has("second"));
  EXPECT_EQ(answered(answers.wait("first")), (Answered{"1", 2}));
  EXPECT_EQ(answered(answers.wait("second")), (Answered{"1", 2}));
  EXPECT_EQ(shown(repository), (Lines{"m 2 READY"}));
}

TEST_F(ModelRepositoryTest, UnloadingWaitsForThoseWhoHaveFoundTheModel) {
  save(2);
  ASSERT_TRUE(repository.add("m", options()).ok());
  ASSERT_TRUE(repository.load("m").ok());
  auto found = repository.find("m");
  ASSERT_TRUE(found.ok());
  const std::jthread unloading([&] { EXPECT_TRUE(repository.unload("m").ok()); });
  wait_until([&] { return shown(repository) == Lines{"m 1 UNLOADING"}; });
  EXPECT_EQ(answered(ask(**found, ones())), (Answered{"1", 2}));
  found = make_error(Code::internal, "done with it");
}

TEST_F(ModelRepositoryTest, NoRequestIsLostWhileVersionsAreReplaced) {
  save(1);
  ASSERT_TRUE(repository.add("m", options()).ok());
  ASSERT_TRUE(repository.load("m").ok());
  std::atomic<bool> is_over = false;
  std::atomic<int> wrong = 0, right = 0;
  constexpr int kClients = 4;
  std::vector<std::jthread> clients;
  clients.reserve(kClients);
  for (int client = 0; client < kClients; ++client) {
    clients.emplace_back([&] {
      while (!is_over) {
        const Answered one = ask_model(repository, "m");
        ++(one == Answered{std::to_string(static_cast<int>(one.factor)), one.factor} ? right : wrong);
      }
    });
  }
  for (int factor = 2; factor <= 6; ++factor) {
    const int before = right;
    save(factor);
    EXPECT_TRUE(repository.load("m").ok());
    wait_until([&] { return right > before + 10 || wrong > 0; });
  }
  is_over = true;
  clients.clear();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(ask_model(repository, "m"), (Answered{"6", 6}));
}

TEST_F(ModelRepositoryTest, LoadingOneModelHoldsUpNoOther) {
  std::atomic<bool> is_read = false, may_go_on = false;
  ModelRepository slow([&](const ModelOptions& model) {
    if (model.labels == "slow") {
      is_read = true;
      wait_until([&] { return may_go_on.load(); });
    }
    return read(model);
  });
  save(2);
  ModelOptions waits = options();
  waits.labels = "slow";
  ASSERT_TRUE(slow.add("slow", waits).ok());
  ASSERT_TRUE(slow.add("fast", options()).ok());
  {
    const std::jthread loading([&] { EXPECT_EQ(slow.load("slow").code(), Code::not_found); });  // no such labels
    wait_until([&] { return is_read.load(); });
    EXPECT_EQ(shown(slow), (Lines{"fast  UNAVAILABLE", "slow 1 LOADING"}));
    EXPECT_EQ(slow.find("slow").error().message, "model 'slow' version 1 is being loaded; try again later");
    ASSERT_TRUE(slow.load("fast").ok());
    EXPECT_EQ(ask_model(slow, "fast"), (Answered{"1", 2}));
    EXPECT_FALSE(slow.is_ready());
    may_go_on = true;
  }
  EXPECT_EQ(shown(slow), (Lines{"fast 1 READY", "slow 1 UNAVAILABLE !"}));
}

TEST_F(ModelRepositoryTest, ServesAFolderOfModels) {
  save_times(folder / "models" / "a" / "1" / "model.onnx", 2);
  save_times(folder / "models" / "a" / "4" / "model.onnx", 3);
  ASSERT_TRUE(write_file_atomically(folder / "models" / "a" / "labels.txt", "cat\ndog\nbird\n").ok());
  ASSERT_TRUE(repository.add_folder(folder / "models", options()).ok());
  EXPECT_EQ(repository.names(), (std::vector<std::string>{"a"}));
  ASSERT_TRUE(repository.load("a").ok());
  EXPECT_EQ(ask_model(repository, "a"), (Answered{"4", 3}));
  EXPECT_EQ((*repository.find("a"))->metadata().labels, (std::vector<std::string>{"cat", "dog", "bird"}));
  save_times(folder / "models" / "a" / "7" / "model.onnx", 5);
  ASSERT_TRUE(repository.load("a").ok());
  EXPECT_EQ(ask_model(repository, "a"), (Answered{"7", 5}));
  save_times(folder / "models" / "a" / "7" / "model.onnx", 6);
  ASSERT_TRUE(repository.load("a").ok());
  EXPECT_EQ(ask_model(repository, "a"), (Answered{"7", 6}));
  save_times(folder / "models" / "later" / "1" / "model.onnx", 8);
  EXPECT_EQ(repository.find("later").code(), Code::not_found);
  ASSERT_TRUE(repository.load("later").ok());
  EXPECT_EQ(ask_model(repository, "later"), (Answered{"1", 8}));
}

}  // namespace
}  // namespace mangrove::serve
