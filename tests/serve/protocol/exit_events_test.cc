// The answers of a network's exits as server-sent events, over a real socket.
#include <gtest/gtest.h>

#include <future>
#include <nlohmann/json.hpp>

#include "tests/base/temporary_folder.h"
#include "tests/serve/http/raw_client.h"
#include "tests/serve/protocol/access_lines.h"
#include "tests/serve/protocol/fake_models.h"
#include "tests/serve/protocol/rest_fixture.h"

namespace mangrove::serve {
namespace {

struct ExitEventsOverRest : Rest {};

/// A network whose second exit is computed when a test says so.
class HeldRun final : public ExitRun {
 public:
  explicit HeldRun(std::shared_future<bool> second_works) : second_works_(std::move(second_works)) {}
  Result<ExitAnswer> next() override {
    const bool is_first = exit_++ == 0;
    if (!is_first && !second_works_.get()) return make_error(Code::internal, "out of order");
    const float sure = is_first ? 1 : 10;
    return ExitAnswer{.exit = exit_,
                      .is_last = !is_first,
                      .entropy = 1 / sure,
                      .response = {.version = "1",
                                   .outputs = {{"scores", Tensor::of<float>({1, 3}, {0, sure, 2 * sure})}},
                                   .queued = 0.001,
                                   .computed = 0.002}};
  }

 private:
  const std::shared_future<bool> second_works_;
  std::size_t exit_ = 0;
};

constexpr const char* kAcceptEvents = "Accept: text/event-stream\r\n";
const std::string kThreePixels = "P5\n3 1\n255\n" + std::string("\0\x80\xff", 3);

/// The data of a piece that is one event of this name.
nlohmann::json event_data(const std::string& piece, const std::string& name) {
  const std::string begin = "event: " + name + "\ndata: ";
  if (!piece.starts_with(begin) || !piece.ends_with("\n\n")) return "no event " + name + ": " + piece;
  return nlohmann::json::parse(piece.substr(begin.size()), nullptr, false);
}

TEST_F(ExitEventsOverRest, TheAnswerOfAnExitComesBeforeTheNextIsComputed) {
  std::promise<bool> works;
  std::string thresholds;
  models.add(image_metadata())->exits = [&, future = works.get_future().share()](const std::string& given) {
    thresholds = given;
    return std::unique_ptr<ExitRun>(std::make_unique<HeldRun>(future));
  };
  const testing::TemporaryFolder folder;
  start({.access_log = folder / "access.jsonl"});
  RawClient client(port);
  client.send(post("/v2/models/colours/classify?k=2&exit_thresholds=0.5", kThreePixels,
                   std::string(kAcceptEvents) + kTraceHeader));
  const RawReply head = client.reply(false);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-type"), "text/event-stream");
  const nlohmann::json coarse = event_data(client.piece(), "exit");
  EXPECT_EQ(coarse["exit"], 1) << coarse;
  EXPECT_EQ(coarse["model_name"], "colours");
  EXPECT_EQ(coarse["model_version"], "1");
  EXPECT_EQ(coarse["entropy"], 1);
  ASSERT_EQ(coarse["top"].size(), 2u);
  EXPECT_EQ(coarse["top"][0]["class"], 2);
  works.set_value(true);  // only now
  const nlohmann::json last = event_data(client.piece(), "answer");
  EXPECT_EQ(last["exit"], 2) << last;
  EXPECT_GT(last["top"][0]["probability"], coarse["top"][0]["probability"]);
  EXPECT_EQ(client.piece(), "");
  EXPECT_EQ(thresholds, "0.5");
  server.reset();
  const std::vector<nlohmann::json> lines = access_lines(folder / "access.jsonl");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["status"], 200);
  EXPECT_EQ(lines[0]["version"], "1");
  EXPECT_EQ(lines[0]["computed_ms"], 2);
  EXPECT_EQ(lines[0]["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736");
}

TEST_F(ExitEventsOverRest, AnExitThatFailsIsAnEventToo) {
  std::promise<bool> works;
  works.set_value(false);
  models.add(image_metadata())->exits = [future = works.get_future().share()](const std::string&) {
    return std::unique_ptr<ExitRun>(std::make_unique<HeldRun>(future));
  };
  const testing::TemporaryFolder folder;
  start({.access_log = folder / "access.jsonl"});
  {
    RawClient client(port);
    client.send(post("/v2/models/colours/classify", kThreePixels, kAcceptEvents));
    EXPECT_EQ(client.reply(false).status, 200);
    EXPECT_EQ(event_data(client.piece(), "exit")["exit"], 1);
    EXPECT_EQ(event_data(client.piece(), "error")["error"], "out of order");
    EXPECT_EQ(client.piece(), "");
  }
  server.reset();
  EXPECT_EQ(access_lines(folder / "access.jsonl").at(0)["status"], 500);
}

TEST_F(ExitEventsOverRest, AModelWithoutExitsHasNoEvents) {
  models.add(image_metadata());
  start();
  const nlohmann::json refused = ask_json(post("/v2/models/colours/classify", kThreePixels, kAcceptEvents), 501);
  EXPECT_NE(refused["error"].get<std::string>().find("exit by exit"), std::string::npos) << refused;
}

TEST_F(ExitEventsOverRest, WhoTakesJsonTooGetsItWhereThereAreNoEvents) {
  models.add(image_metadata(), [](const InferenceRequest& request, const AnswerSink& answer) {
    answer(InferenceResponse{.version = "1", .outputs = {{"scores", request.inputs[0].tensor.reshaped(Shape{1, 3})}}});
  });
  start();
  const std::string path = "/v2/models/colours/classify";
  for (const char* accept : {"application/json, text/event-stream", "text/event-stream, */*;q=0.1",
                             "text/event-stream;q=0", "text/event-stream-of-mine"})
    EXPECT_EQ(ask_json(post(path, kThreePixels, "Accept: " + std::string(accept) + "\r\n"))["top"].size(), 3u)
        << accept;
  EXPECT_EQ(ask(post(path, kThreePixels, "Accept: image/png, Text/Event-Stream;q=0.5\r\n")).status, 501);
}

}  // namespace
}  // namespace mangrove::serve
