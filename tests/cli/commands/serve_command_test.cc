// A server as people start it, asked over a socket, and compared with `mangrove predict`.
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "tests/base/temporary_folder.h"
#include "tests/cli/colour_classifier.h"
#include "tests/cli/on_a_terminal.h"
#include "tests/cli/process.h"
#include "tests/serve/http/raw_client.h"
#include "tests/serve/protocol/access_lines.h"

#include "mangrove/base/file.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/tensor/npy.h"

namespace mangrove {
namespace {

using nlohmann::json;
using serve::get;
using serve::post;
using serve::RawClient;
using serve::RawReply;
using testing::Finished;
using testing::Process;
using testing::program;
using testing::run_program;
using testing::TemporaryFolder;

constexpr Seconds kServeCommandLong = 60;

/// With names of its classes, and the numbers with which it was trained.
Graph trained_colours() {
  GraphParts parts = colour_classifier();
  parts.metadata = {
      {"mangrove.classes", R"(["red", "green", "blue"])"}, {"mangrove.mean", "0.5"}, {"mangrove.std", "0.25"}};
  return Graph::create(std::move(parts)).value();
}

void write_pixels(const fs::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

struct Serve : ::testing::Test {
  void SetUp() override { ASSERT_TRUE(save_onnx(trained_colours(), folder / "m.onnx").ok()); }

  /// Starts the program on free ports, and waits until it says where it listens.
  void start(std::vector<std::string> words) {
    words.insert(words.begin(), {program(), "serve"});
    words.insert(words.end(), {"--listen", "127.0.0.1:0", "--grpc", "127.0.0.1:0"});
    server = std::make_unique<Process>(words, std::vector<std::string>{"MANGROVE_HEALTH_FILE=" + health_file});
    const auto said = [this] { return server->out() + server->err(); };
    server->wait_until([&] { return said().find("and gRPC on") != std::string::npos; }, kServeCommandLong);
    const std::size_t at = said().find("127.0.0.1:");
    ASSERT_NE(at, std::string::npos) << said();
    port = std::stoi(said().substr(at + 10));
  }
  RawReply ask(const std::string& request) const {
    RawClient client(port);
    client.send(request);
    return client.reply();
  }
  int stop() {
    server->signal(SIGINT);
    return server->wait(kServeCommandLong);
  }
  Finished predict(std::vector<std::string> words) const {
    words.insert(words.begin(), {program(), "predict", folder / "m.onnx"});
    return run_program(words);
  }

  const TemporaryFolder folder;
  const std::string health_file = folder / "health";
  std::unique_ptr<Process> server;
  int port = 0;
};

TEST_F(Serve, AnswersAsPredictDoesAndEndsWell) {
  start({"colours", "--model", folder / "m.onnx", "--max-wait", "0s"});
  Tensor x(DType::f32, Shape{1, 3, 4, 4});
  for (std::size_t i = 0; i < 48; ++i) x.as<float>()[i] = static_cast<float>(i) / 7;
  write_pixels(folder / "x.npy", encode_npy(x));
  ASSERT_EQ(predict({"--input", folder / "x.npy", "--output", folder / "y.npy"}).status, 0);
  const Tensor expected = parse_npy(read_file(folder / "y.npy").value()).value();

  json request = {{"id", "7"}, {"inputs", {{{"name", "image"}, {"shape", {1, 3, 4, 4}}, {"datatype", "FP32"}}}}};
  request["inputs"][0]["data"] = std::vector<float>(x.as<float>().begin(), x.as<float>().end());
  const RawReply reply = ask(post("/v2/models/colours/infer", request.dump()));
  ASSERT_EQ(reply.status, 200) << reply.body;
  const json answer = json::parse(reply.body);
  EXPECT_EQ(answer["id"], "7");
  const auto logits = answer["outputs"][0]["data"].get<std::vector<float>>();
  ASSERT_EQ(logits.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(logits[i], expected.as<float>()[i]);

  EXPECT_EQ(stop(), 0) << server->err();
  EXPECT_NE(server->out().find("1 request answered in"), std::string::npos) << server->out();
}

TEST_F(Serve, KeepsALineOfEachRequest) {
  start({"colours", "--model", folder / "m.onnx", "--max-wait", "0s", "--access-log", folder / "access.jsonl"});
  const json request = {
      {"id", "7"},
      {"inputs",
       {{{"name", "image"}, {"shape", {1, 3, 4, 4}}, {"datatype", "FP32"}, {"data", std::vector<float>(48, 1)}}}}};
  const RawReply reply = ask(post("/v2/models/colours/infer", request.dump(),
                                  "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n"));
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(stop(), 0) << server->err();
  const std::vector<json> lines = serve::access_lines(folder / "access.jsonl");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["model"], "colours");
  EXPECT_EQ(lines[0]["version"], "1");
  EXPECT_EQ(lines[0]["id"], "7");
  EXPECT_EQ(lines[0]["status"], 200);
  EXPECT_EQ(lines[0]["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_GE(lines[0]["queued_ms"].get<double>(), 0);
  EXPECT_GT(lines[0]["computed_ms"].get<double>(), 0);
}

TEST_F(Serve, TellsItsHealth) {
  start({"colours", "--model", folder / "m.onnx"});
  const Finished well = run_program({program(), "health", "--file", health_file, "--ready"});
  EXPECT_EQ(well.out, "serve is ready: requests that wait: 0\n") << well.err;
  EXPECT_EQ(stop(), 0) << server->err();
  EXPECT_EQ(run_program({program(), "health", "--file", health_file}).status, 1);
}

TEST_F(Serve, ShowsAPersonHowItGoes) {
  testing::OnATerminal terminal({program(), "serve", "colours", "--model", folder / "m.onnx", "--listen", "127.0.0.1:0",
                                 "--grpc", "127.0.0.1:0"});
  EXPECT_TRUE(terminal.shows("and gRPC on"));
  EXPECT_TRUE(terminal.shows("0 requests/s, 0 waiting"));
  terminal.type('\x03');  // Ctrl-C
  EXPECT_TRUE(terminal.shows("0 requests answered in"));
}

TEST_F(Serve, ClassifiesAsPredictDoes) {
  start({"colours", "--model", folder / "m.onnx", "--json"});
  std::string image = "P6\n9 6\n255\n";
  for (int i = 0; i < 54; ++i) image += std::string("\x33\xcc\x66", 3);
  write_pixels(folder / "image.ppm", image);
  const Finished run = predict({"--input", folder / "image.ppm", "--json"});
  ASSERT_EQ(run.status, 0) << run.err;
  const json expected = json::parse(run.out)["samples"][0]["top"];
  const RawReply reply = ask(post("/v2/models/colours/classify", image));
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(json::parse(reply.body)["top"], expected);
  EXPECT_EQ(expected[0]["label"], "green");

  EXPECT_EQ(ask(post("/v2/models/colours/infer", "{}")).status, 400);
  EXPECT_EQ(stop(), 0) << server->err();
  const json report = json::parse(server->out(), nullptr, false);
  ASSERT_FALSE(report.is_discarded()) << server->out();
  EXPECT_EQ(report["answered"], 1);
  EXPECT_GT(report["latency"]["p50_s"].get<double>(), 0);
}

TEST_F(Serve, ServesTheModelsOfAFolder) {
  for (const char* version : {"colours/1", "colours/2", "other/1"}) {
    fs::create_directories(folder / "models" / version);
    fs::copy_file(folder / "m.onnx", folder / "models" / version / "model.onnx");
  }
  write_pixels(folder / "models/other/labels.txt", "rot\ngruen\nblau\n");
  fs::create_directories(folder / "models/broken/1");
  write_pixels(folder / "models/broken/1/model.onnx", "no network");
  start({"--repository", folder / "models"});
  const json metadata = json::parse(ask(get("/v2/models/colours")).body);
  EXPECT_EQ(metadata["versions"], json({"2"})) << "the newest";
  EXPECT_EQ(ask(get("/v2/health/ready")).status, 400) << "one is broken";
  EXPECT_EQ(ask(get("/v2/models/other/ready")).status, 200);
  std::string image = "P6\n4 4\n255\n";
  for (int i = 0; i < 16; ++i) image += std::string("\0\0\xff", 3);
  EXPECT_EQ(json::parse(ask(post("/v2/models/other/classify?k=1", image)).body)["top"][0]["label"], "blau");
  EXPECT_NE(server->err().find("broken"), std::string::npos) << server->err();
  EXPECT_EQ(stop(), 0);
}

TEST_F(Serve, ATokenFileIsForItsOwnerAlone) {
  const fs::path file = folder / "tokens";
  write_pixels(file, "user 0123456789abcdef\n");
  fs::permissions(file, fs::perms(0644));
  const Finished open = run_program({program(), "serve", "m", "--model", folder / "m.onnx", "--token-file", file});
  EXPECT_EQ(open.status, 1);
  EXPECT_NE(open.err.find("chmod 600"), std::string::npos) << open.err;
  fs::permissions(file, fs::perms(0600));
  start({"m", "--model", folder / "m.onnx", "--token-file", file});
  EXPECT_EQ(ask(get("/v2")).status, 401);
  EXPECT_EQ(ask(get("/v2", "Authorization: Bearer 0123456789abcdef\r\n")).status, 200);
  EXPECT_EQ(stop(), 0);
}

struct WrongServe {
  const char* name;
  std::vector<std::string> words;
  int status;
  const char* said;
};
class BadServe : public ::testing::TestWithParam<WrongServe> {};

TEST_P(BadServe, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  ASSERT_TRUE(save_onnx(trained_colours(), folder / "m.onnx").ok());
  std::vector<std::string> words = {program(), "serve"};
  for (std::string word : GetParam().words) {
    if (const std::size_t at = word.find("$T"); at != std::string::npos) word.replace(at, 2, folder.path());
    words.push_back(word);
  }
  const Finished run = run_program(words);
  EXPECT_EQ(run.status, GetParam().status) << run.err;
  EXPECT_NE(run.err.find(GetParam().said), std::string::npos) << run.err;
}

INSTANTIATE_TEST_SUITE_P(
    Serve, BadServe,
    ::testing::Values(WrongServe{"nothing", {}, 2, "give NAME --model FILE, or --repository"},
                      WrongServe{"no_model", {"m"}, 2, "give NAME --model FILE"},
                      WrongServe{"both", {"m", "--model", "$T/m.onnx", "--repository", "$T"}, 2, "not both"},
                      WrongServe{"no_file", {"m", "--model", "$T/n.onnx"}, 2, "n.onnx"},
                      WrongServe{"name", {"a/b", "--model", "$T/m.onnx"}, 2, "a/b"},
                      WrongServe{"empty_folder", {"--repository", "$T"}, 2, "no models"},
                      WrongServe{"address", {"m", "--model", "$T/m.onnx", "--listen", "8000"}, 2, "HOST:PORT"},
                      WrongServe{"plain", {"m", "--model", "$T/m.onnx", "--listen", "0.0.0.0:0"}, 1, "--insecure"},
                      WrongServe{"range", {"m", "--model", "$T/m.onnx", "--max-batch", "0"}, 2, "--max-batch"}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace mangrove
