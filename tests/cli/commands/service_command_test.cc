// `mangrove service` and `mangrove infer --url` against servers as people start them.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "tests/base/temporary_folder.h"
#include "tests/cli/colour_classifier.h"
#include "tests/cli/process.h"
#include "tests/serve/http/raw_client.h"
#include "tests/serve/protocol/fake_models.h"
#include "tests/serve/scripted_server.h"

#include "mangrove/base/file.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/job/json_fields.h"
#include "mangrove/serve/server.h"
#include "mangrove/serve/update/model_update.h"

namespace mangrove {
namespace {

using nlohmann::json;
using serve::post;
using serve::RawClient;
using serve::RawReply;
using testing::Finished;
using testing::Process;
using testing::program;
using testing::run_program;
using testing::TemporaryFolder;

constexpr Seconds kServiceCommandLong = 120;
constexpr const char* kImage = R"({"inputs":[{"name":"image","shape":[1,3,1,1],"datatype":"FP32","data":[1,2,3]}]})";

/// logits = `factor` times the colours of an image of any size.
Graph colours_of(float factor) {
  GraphParts parts = colour_classifier();
  parts.inputs = {{"image", {DType::f32, {kBatch, 3, 1, 1}}}};
  parts.initializers["ten"] = Tensor::of<float>({3, 3}, {factor, 0, 0, 0, factor, 0, 0, 0, factor});
  return Graph::create(std::move(parts)).value();
}

struct ServiceCommand : ::testing::Test {
  void SetUp() override {
    ASSERT_TRUE(save_onnx(colours_of(1), folder / "one.onnx").ok());
    ASSERT_TRUE(save_onnx(colours_of(2), folder / "two.onnx").ok());
    std::ofstream(folder / "tokens") << "user 0123456789abcdef\nadmin fedcba9876543210\n";
    std::ofstream(folder / "user.token") << "0123456789abcdef\n";
    for (const char* name : {"tokens", "user.token"}) fs::permissions(folder / name, fs::perms(0600));
  }
  void start(std::vector<std::string> words) {
    words.insert(words.begin(), {program(), "serve"});
    words.insert(words.end(), {"--listen", "127.0.0.1:0", "--grpc", ""});
    server = std::make_unique<Process>(words);
    server->wait_until([&] { return server->out().find("serving on") != std::string::npos; }, kServiceCommandLong);
    const std::size_t at = server->out().find("127.0.0.1:");
    ASSERT_NE(at, std::string::npos) << server->err();
    port = std::stoi(server->out().substr(at + 10));
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port); }
  Finished service(std::vector<std::string> words, const std::string& tokens = "tokens") const {
    words.insert(words.begin(), {program(), "service"});
    words.insert(words.end(), {"--url", url(), "--token-file", folder / tokens, "--json"});
    return run_program(words, kServiceCommandLong);
  }
  RawReply ask() const {
    RawClient client(port);
    client.send(post("/v2/models/colours/infer", kImage, "Authorization: Bearer 0123456789abcdef\r\n"));
    return client.reply();
  }
  /// The version that answers, and three times what it says of the colour 3: "1: 3".
  static std::string told(const RawReply& reply) {
    const json answer = json::parse(reply.body, nullptr, false);
    if (reply.status != 200 || answer.is_discarded()) return std::to_string(reply.status) + " " + reply.body;
    return answer["model_version"].get<std::string>() + ": " +
           std::to_string(answer["outputs"][0]["data"][2].get<int>());
  }
  /// Clients that ask until they are ended, and count.
  void begin_asking() {
    for (int i = 0; i < 3; ++i)
      clients.emplace_back([this](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          const std::string answer = told(ask());
          if (answer == "1: 3")
            ++of_first;
          else if (answer == "2: 6")
            ++of_second;
          else
            ++lost;
        }
      });
  }
  void end_asking() {
    clients.clear();
    EXPECT_EQ(lost, 0);
  }

  const TemporaryFolder folder;
  std::unique_ptr<Process> server;
  int port = 0;
  std::atomic<int> of_first = 0, of_second = 0, lost = 0;
  std::vector<std::jthread> clients;
};

TEST_F(ServiceCommand, ChangesTheNetworkAfterATrialWithoutLosingARequest) {
  start({"colours", "--model", folder / "one.onnx", "--token-file", folder / "tokens", "--max-wait", "0s"});
  EXPECT_EQ(told(ask()), "1: 3");
  const json first = json::parse(service({"show", "colours"}).out)["services"][0]["versions"][0];
  EXPECT_EQ(first["owner"], "") << "the start of a server without a certificate";
  begin_asking();
  const Finished updated =
      service({"update", "colours", "--model", folder / "two.onnx", "--canary", "20%", "--canary-requests", "40"});
  EXPECT_EQ(updated.status, 0) << updated.err << updated.out;
  const json update = json::parse(updated.out)["services"][0]["update"];
  EXPECT_EQ(update["state"], "switched");
  EXPECT_GE(update["new"]["requests"], 40);
  EXPECT_EQ(told(ask()), "2: 6");
  end_asking();
  EXPECT_GT(of_first, 0);
  EXPECT_GT(of_second, 0);

  const Finished shown = service({"show", "colours"});
  EXPECT_EQ(shown.status, 0) << shown.err;
  const json versions = json::parse(shown.out)["services"][0]["versions"];
  ASSERT_EQ(versions.size(), 1u);
  EXPECT_EQ(versions[0]["version"], "2");
  EXPECT_GT(versions[0]["p50_s"], 0);
  EXPECT_EQ(versions[0]["owner"], "admin token") << "who began the update";
  EXPECT_EQ(versions[0]["began"].get<std::string>().size(), std::string("2026-11-24T15:04:05Z").size());
  const json listed = json::parse(service({"list"}).out)["services"][0];
  EXPECT_EQ(listed["name"], "colours");
  EXPECT_EQ(listed["versions"][0]["owner"], "admin token");

  EXPECT_EQ(service({"stop", "colours"}).status, 0);
  EXPECT_EQ(ask().status, 503);
}

TEST_F(ServiceCommand, TakesNoBrokenFileAndNoTokenOfAUser) {
  start({"colours", "--model", folder / "one.onnx", "--token-file", folder / "tokens"});
  std::ofstream(folder / "broken.onnx") << "no network";
  const Finished broken = service({"update", "colours", "--model", folder / "broken.onnx"});
  EXPECT_NE(broken.status, 0);
  EXPECT_NE(broken.err.find("cannot be read"), std::string::npos) << broken.err;
  const Finished user = service({"update", "colours", "--model", folder / "two.onnx"}, "user.token");
  EXPECT_EQ(user.status, 1);
  EXPECT_NE(user.err.find("admin"), std::string::npos) << user.err;
  const Finished unknown = service({"update", "colors", "--model", folder / "two.onnx"});
  EXPECT_NE(unknown.err.find("colours"), std::string::npos) << unknown.err;
  EXPECT_EQ(told(ask()), "1: 3");
}

/// What a server sends that answers with this.
std::string http_answer(const json& body) {
  const std::string text = body.dump();
  return "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + std::to_string(text.size()) + "\r\n\r\n" + text;
}

TEST_F(ServiceCommand, FollowsItsOwnUpdateAndNotThatOfSomebodyElse) {
  const serve::UpdateStatus of_another{
      .state = serve::UpdateStatus::kSwitched, .version = "3", .before = "1", .reason = "no trial was asked for"};
  const serve::ServiceStatus status{.name = "colours", .versions = {}, .update = of_another};
  serve::ScriptedServer other({http_answer(job::json_of(serve::UpdateBegun{.name = "colours", .version = "2"})),
                               http_answer(job::json_of(status))});
  port = other.port();
  const Finished updated = service({"update", "colours", "--model", folder / "two.onnx"});
  EXPECT_EQ(updated.status, 1) << updated.out;
  EXPECT_NE(updated.err.find("the update to version 2 is over"), std::string::npos) << updated.err;
  EXPECT_EQ(other.asked(), 2);
}

TEST_F(ServiceCommand, BeginsAnUpdateOnceOnly) {
  serve::ScriptedServer breaking({"HTTP/1.1 200 OK\r\nContent-Le"});
  port = breaking.port();
  const Finished updated = service({"update", "colours", "--model", folder / "two.onnx"});
  EXPECT_EQ(updated.status, 1) << updated.out;
  EXPECT_NE(updated.err.find("may have done"), std::string::npos) << updated.err;
  EXPECT_EQ(breaking.asked(), 1);
}

TEST_F(ServiceCommand, ASignalInTheMiddleOfATrialEndsTheServerInOrder) {
  start({"colours", "--model", folder / "one.onnx", "--token-file", folder / "tokens", "--max-wait", "0s"});
  Process update({program(), "service", "update", "colours", "--model", folder / "two.onnx", "--canary", "50%",
                  "--canary-requests", "100000", "--url", url(), "--token-file", folder / "tokens"});
  EXPECT_TRUE(update.wait_until([&] { return update.err().find("trial") != std::string::npos; }, kServiceCommandLong));
  EXPECT_EQ(ask().status, 200);
  server->signal(SIGTERM);
  EXPECT_EQ(server->wait(kServiceCommandLong), 0) << server->err();
  update.signal(SIGINT);
  EXPECT_NE(update.wait(kServiceCommandLong), 0);
}

TEST_F(ServiceCommand, InferAsksAServerForTheSamplesOfADataSet) {
  const Finished trained = run_program({program(), "train", "--model", "mlp", "--data", "glyphs", "--limit", "2000",
                                        "--local", "1", "--epochs", "1", "--run-dir", folder / "run", "--json"},
                                       kServiceCommandLong);
  ASSERT_EQ(trained.status, 0) << trained.err;
  const std::string model = folder / "run/model.onnx";
  start({"digits", "--model", model, "--token-file", folder / "tokens"});
  const Finished asked = run_program({program(), "infer", "--url", url(), "--token-file", folder / "user.token",
                                      "--data", "glyphs", "--limit", "510", "--micro-batch", "50", "--json"},
                                     kServiceCommandLong);
  ASSERT_EQ(asked.status, 0) << asked.err;
  const json report = json::parse(asked.out);
  EXPECT_EQ(report["images"], 510);
  EXPECT_EQ(report["lost"], 0);
  EXPECT_EQ(report["requests"], 11);
  EXPECT_EQ(report["encoding"], "bytes");
  EXPECT_EQ(report["model"], "digits");
  EXPECT_EQ(report["versions"], json({"1"}));
  const Finished local = run_program({program(), "infer", "--model", model, "--data", "glyphs", "--limit", "510",
                                      "--local", "1", "--run-dir", folder / "infer", "--json"},
                                     kServiceCommandLong);
  ASSERT_EQ(local.status, 0) << local.err;
  EXPECT_EQ(report["accuracy"], json::parse(local.out)["accuracy"]) << "the same network, the same samples";
}

TEST_F(ServiceCommand, InferEndsWithAnErrorWhereAnImageIsLost) {
  serve::FakeModels models;
  std::atomic<int> asked = 0;
  const serve::ModelMetadata digits{.name = "digits",
                                    .version = "1",
                                    .platform = "onnx_mangrove",
                                    .inputs = {{"input", DType::f32, {-1, 1, 28, 28}}},
                                    .outputs = {{"logits", DType::f32, {-1, 10}}},
                                    .labels = {},
                                    .max_batch = 16,
                                    .properties = {}};
  models.add(digits, [&](const serve::InferenceRequest& request, const serve::AnswerSink& answer) {
    if (++asked % 2 == 0) return answer(make_error(Code::internal, "out of order"));
    Tensor logits(DType::f32, Shape{request.inputs[0].tensor.shape()[0], 10});
    std::ranges::fill(logits.as<float>(), 0.0F);
    answer(serve::InferenceResponse{.version = "1", .outputs = {{"logits", std::move(logits)}}});
  });
  const auto half = serve::Server::start(models, {.http = "127.0.0.1:0", .grpc = ""});
  ASSERT_TRUE(half.ok()) << half.error().message;
  const Finished run = run_program({program(), "infer", "--url", "http://" + (*half)->http_address(), "--data",
                                    "glyphs", "--limit", "40", "--micro-batch", "10", "--window", "1", "--json"},
                                   kServiceCommandLong);
  EXPECT_EQ(run.status, 1) << run.err;
  const json report = json::parse(run.out);
  EXPECT_EQ(report["images"], 40);
  EXPECT_EQ(report["lost"], 20);
  EXPECT_NE(report["error"].get<std::string>().find("out of order"), std::string::npos) << report["error"];
}

TEST_F(ServiceCommand, InferSaysWhatMakesNoSenseWithAServer) {
  const auto said = [](std::vector<std::string> words) {
    words.insert(words.begin(), {program(), "infer"});
    const Finished run = run_program(words);
    EXPECT_EQ(run.status, 2) << run.err;
    return run.err;
  };
  EXPECT_NE(said({"--url", "http://127.0.0.1:1", "--model", "m.onnx"}).find("--model has no meaning"),
            std::string::npos);
  EXPECT_NE(said({"--url", "127.0.0.1:8000"}).find("http://HOST:PORT"), std::string::npos);
  EXPECT_NE(said({"--model-name", "m"}).find("--url"), std::string::npos);
}

}  // namespace
}  // namespace mangrove
