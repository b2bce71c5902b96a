// REST over a real socket, with requests written from the specification.
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/base/temporary_folder.h"
#include "tests/serve/http/raw_client.h"
#include "tests/serve/protocol/access_lines.h"
#include "tests/serve/protocol/fake_models.h"
#include "tests/serve/protocol/rest_fixture.h"

#include "mangrove/serve/protocol/routes.h"

namespace mangrove::serve {
namespace {

using nlohmann::json;

constexpr const char* kInfer = R"({"inputs":[{"name":"x","shape":[1,2],"datatype":"FP32","data":[1,2]}]})";

TEST_F(Rest, SaysThatItIsLiveAndReady) {
  models.add(pair_metadata());
  start();
  EXPECT_EQ(ask_json(get("/v2/health/live")), json::parse(R"({"live":true})"));
  EXPECT_EQ(ask_json(get("/v2/health/ready")), json::parse(R"({"ready":true})"));
  EXPECT_EQ(ask_json(get("/v2/models/m/ready")), json::parse(R"({"name":"m","ready":true})"));
  EXPECT_EQ(ask_json(get("/v2/models/m/versions/1/ready"))["ready"], true);
  EXPECT_EQ(ask_json(get("/v2/models/n/ready"), 404)["ready"], false);
  models.ready = false;
  EXPECT_EQ(ask_json(get("/v2/health/ready"), 400), json::parse(R"({"ready":false})"));
}

TEST_F(Rest, DescribesItselfAndItsModels) {
  models.add(pair_metadata());
  models.add(pair_metadata("m", "2"));
  start();
  const json about = ask_json(get("/v2"));
  EXPECT_EQ(about["name"], "mangrove");
  EXPECT_EQ(about["version"], "1.2.3");
  EXPECT_NE(about["extensions"].dump().find("binary_tensor_data"), std::string::npos);
  EXPECT_EQ(ask_json(get("/v2/")), about);
  EXPECT_EQ(ask(get("/v2/models/m")).body, R"({"name":"m","versions":["1","2"],"platform":"onnx_mangrove",)"
                                           R"("inputs":[{"name":"x","datatype":"FP32","shape":[-1,2]}],)"
                                           R"("outputs":[{"name":"y","datatype":"FP32","shape":[-1,2]}]})");
  EXPECT_EQ(ask(get("/v2/models/m/config")).body,
            R"({"name":"m","platform":"onnx_mangrove","backend":"mangrove","max_batch_size":16,)"
            R"("input":[{"name":"x","data_type":"TYPE_FP32","dims":[2]}],)"
            R"("output":[{"name":"y","data_type":"TYPE_FP32","dims":[2]}],)"
            R"("parameters":{"author":{"string_value":"ann"}}})");
}

TEST_F(Rest, AnswersTheSpecificationsRequest) {
  models.add(pair_metadata("mymodel"));
  start();
  const RawReply reply = ask(post("/v2/models/mymodel/infer", R"({
  "id" : "42",
  "inputs" : [
    {
      "name" : "x",
      "shape" : [ 2, 2 ],
      "datatype" : "FP32",
      "data" : [ 1, 2, 3, 4 ]
    }
  ],
  "outputs" : [
    {
      "name" : "y"
    }
  ]
})"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("content-type"), "application/json");
  EXPECT_EQ(reply.body, R"({"model_name":"mymodel","model_version":"1","id":"42","outputs":[)"
                        R"({"name":"y","datatype":"FP32","shape":[2,2],"data":[1.0,2.0,3.0,4.0]}]})");
  EXPECT_EQ(ask(post("/v2/models/mymodel/versions/1/infer", kInfer)).status, 200);
}

TEST_F(Rest, TakesAndGivesBytesBehindTheJson) {
  models.add(pair_metadata());
  start();
  const std::string head =
      R"({"inputs":[{"name":"x","shape":[1,2],"datatype":"FP32","parameters":{"binary_data_size":8}}],)"
      R"("outputs":[{"name":"y","parameters":{"binary_data":true}}]})";
  const std::string bytes("\0\0\x80\x3f\0\0\0\x40", 8);
  const RawReply reply = ask(post("/v2/models/m/infer", head + bytes,
                                  "Inference-Header-Content-Length: " + std::to_string(head.size()) + "\r\n"));
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.headers.at("content-type"), "application/octet-stream");
  const auto length = static_cast<std::size_t>(std::stoi(reply.headers.at("inference-header-content-length")));
  EXPECT_EQ(reply.body.substr(0, length),
            R"({"model_name":"m","model_version":"1","outputs":[{"name":"y","datatype":"FP32","shape":[1,2],)"
            R"("parameters":{"binary_data_size":8}}]})");
  EXPECT_EQ(reply.body.substr(length), bytes);
  EXPECT_EQ(ask(post("/v2/models/m/infer", kInfer, "Inference-Header-Content-Length: many\r\n")).status, 400);
}

TEST_F(Rest, HandsPriorityTimeoutAndIdToTheModel) {
  std::vector<InferenceRequest> seen;
  models.add(pair_metadata(), [&](InferenceRequest request, const AnswerSink& answer) {
    seen.push_back(request);
    echo(std::move(request), answer);
  });
  start();
  const SteadyClock clock;
  const Instant before = clock.now();
  const json answer = ask_json(post("/v2/models/m/infer",
                                    R"({"id":"a","parameters":{"priority":3,"timeout":60000000},"inputs":[{"name":"x",)"
                                    R"("shape":[1,2],"datatype":"FP32","data":[1,2]}]})"));
  EXPECT_EQ(answer["id"], "a");
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].priority, 47);
  EXPECT_GE(seen[0].deadline, before + 60);
  EXPECT_LE(seen[0].deadline, clock.now() + 60);
}

TEST_F(Rest, AModelThatDoesNotAnswerInTimeIsNotWaitedFor) {
  std::vector<AnswerSink> kept;
  models.add(pair_metadata(), [&](const InferenceRequest&, AnswerSink answer) { kept.push_back(std::move(answer)); });
  start();
  const json late = ask_json(post("/v2/models/m/infer", R"({"parameters":{"timeout":20000},"inputs":[{"name":"x",)"
                                                        R"("shape":[1,2],"datatype":"FP32","data":[1,2]}]})"),
                             504);
  EXPECT_NE(late["error"].get<std::string>().find("deadline"), std::string::npos);
  ASSERT_EQ(kept.size(), 1u);
  kept[0](make_error(Code::deadline_exceeded, "too late"));
  EXPECT_EQ(server->traffic().late, 1u);
}

TEST_F(Rest, EveryErrorHasItsStatus) {
  const std::map<Code, int> statuses = {{Code::invalid_argument, 400},   {Code::not_found, 404},
                                        {Code::resource_exhausted, 429}, {Code::unavailable, 503},
                                        {Code::deadline_exceeded, 504},  {Code::unimplemented, 501},
                                        {Code::internal, 500},           {Code::data_loss, 400}};
  for (const auto& [code, status] : statuses)
    models.add(pair_metadata(code_name(code)), refuse_with(code, "it says why"));
  start();
  for (const auto& [code, status] : statuses) {
    const RawReply reply = ask(post(std::string("/v2/models/") + code_name(code) + "/infer", kInfer));
    EXPECT_EQ(reply.status, status) << code_name(code);
    EXPECT_EQ(reply.body, R"({"error":"it says why"})");
    EXPECT_EQ(reply.headers.contains("retry-after"), status == 429 || status == 503) << code_name(code);
  }
  EXPECT_EQ(server->traffic().refused, 1u);
}

TEST_F(Rest, WhatIsNotThereIsSaid) {
  models.add(pair_metadata());
  start();
  EXPECT_EQ(ask_json(get("/v2/models/n"), 404)["error"], "unknown model 'n'");
  EXPECT_EQ(ask_json(post("/v2/models/m/versions/7/infer", kInfer), 404)["error"], "model 'm' has no version '7'");
  EXPECT_NE(ask_json(get("/v3"), 404).dump().find("openapi.json"), std::string::npos);
  EXPECT_EQ(ask_json(get("/v2/models/m/infer"), 405)["error"], "this path takes POST");
  EXPECT_EQ(ask_json(post("/v2", "{}"), 405)["error"], "this path takes GET");
  EXPECT_EQ(ask("DELETE /v2/models/m HTTP/1.1\r\nHost: a\r\n\r\n").status, 405);
  EXPECT_EQ(ask_json(post("/v2/models/m/infer", "{"), 400)["error"], "the body is no JSON from its byte 2 on");
}

TEST_F(Rest, ANameMayNeedEscapes) {
  models.add(pair_metadata("a b/c"));
  start();
  EXPECT_EQ(ask_json(get("/v2/models/a%20b%2Fc"))["name"], "a b/c");
  EXPECT_EQ(ask(get("/v2/models/a%2")).status, 404);
}

TEST_F(Rest, CountsWhatModelsDid) {
  const auto model = models.add(pair_metadata());
  model->counts.inferences = 12;
  model->counts.executions = 5;
  model->counts.last_inference = 1'700'000'000'000;
  model->counts.success = {7, 700};
  model->counts.queue = {7, 70'000};
  model->counts.compute_infer = {7, 2'999'999};
  model->counts.waiting = 3;
  model->counts.batches[4] = {.compute_input = {1, 2}, .compute_infer = {3, 4}, .compute_output = {5, 6}};
  start();
  const json one = ask_json(get("/v2/models/m/versions/1/stats"));
  EXPECT_EQ(ask_json(get("/v2/models/m/stats")), one);
  EXPECT_EQ(ask_json(get("/v2/models/stats")), one);
  const json& counted = one["model_stats"][0];
  EXPECT_EQ(counted["name"], "m");
  EXPECT_EQ(counted["inference_count"], 12);
  EXPECT_EQ(counted["execution_count"], 5);
  EXPECT_EQ(counted["last_inference"], 1'700'000'000'000);
  EXPECT_EQ(counted["inference_stats"]["success"], json::parse(R"({"count":7,"ns":700})"));
  EXPECT_EQ(counted["batch_stats"][0]["batch_size"], 4);
  EXPECT_EQ(counted["batch_stats"][0]["compute_infer"], json::parse(R"({"count":3,"ns":4})"));
  EXPECT_EQ(ask(get("/v2/models/n/stats")).status, 404);
  const std::string text = ask(get("/metrics")).body;
  EXPECT_NE(text.find("mangrove_serve_requests_total{model=\"m\",version=\"1\"} 7\n"), std::string::npos) << text;
  for (const char* metric :
       {"request_success 7", "request_failure 0", "count 12", "exec_count 5", "request_duration_us 0",
        "queue_duration_us 70", "compute_infer_duration_us 2999", "pending_request_count 3"}) {
    std::string line = "\nnv_inference_" + std::string(metric) + "\n";
    line.insert(line.find(' '), R"({model="m",version="1"})");
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
  EXPECT_NE(text.find("# TYPE nv_inference_request_success counter\n"), std::string::npos) << text;
  EXPECT_NE(text.find("# TYPE nv_inference_pending_request_count gauge\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("compute_input_duration_us{"), std::string::npos) << "it was not measured";
}

TEST_F(Rest, TellsHowLongInputsAndOutputsTookWhereThatIsMeasured) {
  const auto model = models.add(pair_metadata());
  model->counts.compute_input = {7, 5'000};
  model->counts.compute_output = {7, 6'000};
  start();
  const std::string text = ask(get("/metrics")).body;
  for (const char* line : {"nv_inference_compute_input_duration_us{model=\"m\",version=\"1\"} 5\n",
                           "nv_inference_compute_output_duration_us{model=\"m\",version=\"1\"} 6\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

TEST_F(Rest, ATraceGoesOnInTheModelAndInTheAccessLog) {
  std::vector<std::string> traces;
  models.add(pair_metadata(), [&](InferenceRequest request, const AnswerSink& answer) {
    traces.push_back(request.trace_id);
    Tensor output = request.inputs.at(0).tensor;
    answer(
        InferenceResponse{.version = "1", .outputs = {{"y", std::move(output)}}, .queued = 0.001, .computed = 0.002});
  });
  const testing::TemporaryFolder folder;
  start({.access_log = folder / "access.jsonl"});
  const std::string path = "/v2/models/m/infer", body = R"({"id":"42",)" + std::string(kInfer).substr(1);
  const RawReply traced = ask(post(path, body, kTraceHeader));
  EXPECT_EQ(traced.status, 200);
  EXPECT_FALSE(traced.headers.contains("traceresponse")) << "the Recommendation has no such header";
  EXPECT_EQ(ask(post(path, kInfer)).status, 200);
  EXPECT_EQ(ask(post(path, kInfer, "traceparent: 00-1-2-3\r\n")).status, 200);
  EXPECT_EQ(ask(post(path, kInfer, std::string(kTraceHeader) + kTraceHeader)).status, 200);
  EXPECT_EQ(ask(get("/v2/models/m")).status, 200);
  server.reset();
  const std::vector<json> lines = access_lines(folder / "access.jsonl");
  ASSERT_EQ(lines.size(), 4u) << "requests to models alone";
  EXPECT_EQ(lines[0]["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(lines[0]["parent_id"], "00f067aa0ba902b7");
  EXPECT_EQ(lines[0]["protocol"], "rest");
  EXPECT_EQ(lines[0]["model"], "m");
  EXPECT_EQ(lines[0]["version"], "1");
  EXPECT_EQ(lines[0]["id"], "42");
  EXPECT_EQ(lines[0]["status"], 200);
  EXPECT_EQ(lines[0]["queued_ms"], 1);
  EXPECT_EQ(lines[0]["computed_ms"], 2);
  EXPECT_TRUE(lines[0]["from"].get<std::string>().starts_with("127.0.0.1:")) << lines[0];
  ASSERT_EQ(traces.size(), 4u);
  for (std::size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(lines[i]["trace_id"], traces[i]) << i;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i]["parent_id"], "") << "a new trace";
    EXPECT_EQ(lines[i]["trace_id"].get<std::string>().size(), 32u);
    EXPECT_NE(lines[i]["trace_id"], lines[i - 1]["trace_id"]);
  }
}

TEST_F(Rest, TheAccessLogHasWhatWasRefusedToo) {
  models.add(pair_metadata());
  const testing::TemporaryFolder folder;
  start({.tokens = Tokens::parse("user 0123456789abcdef", kTokenHolders).value(),
         .limits = {.max_request = 1000},
         .access_log = folder / "access.jsonl"});
  const std::string token = "Authorization: Bearer 0123456789abcdef\r\n";
  EXPECT_EQ(ask(post("/v2/models/m/infer", kInfer)).status, 401);
  EXPECT_EQ(ask(post("/v2/models/n/infer", kInfer, token)).status, 404);
  EXPECT_EQ(ask(post("/v2/models/m/infer", "{}", token)).status, 400);
  EXPECT_EQ(ask(post("/v2/models/m/infer", std::string(2000, ' '), token)).status, 413);
  EXPECT_EQ(ask(post("/v2/models/m/versions/1/classify", "no image", token + kTraceHeader)).status, 400);
  EXPECT_EQ(ask(post("/v2/models/m/other", kInfer, token)).status, 404);
  server.reset();
  const std::vector<json> lines = access_lines(folder / "access.jsonl");
  ASSERT_EQ(lines.size(), 5u);
  const std::vector<int> statuses = {401, 404, 400, 413, 400};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i]["status"], statuses[i]) << i;
    EXPECT_EQ(lines[i]["client"], i == 0 ? "" : "user token") << i;
    EXPECT_TRUE(lines[i]["computed_ms"].is_null()) << i;
  }
  EXPECT_EQ(lines[1]["model"], "n");
  EXPECT_EQ(lines[4]["version"], "1");
  EXPECT_EQ(lines[4]["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736");
}

TEST_F(Rest, NeedsAnAccessLogThatItCanWrite) {
  const testing::TemporaryFolder folder;
  const auto failed = Server::start(models, {.http = "127.0.0.1:0", .grpc = "", .access_log = folder / "no/log"});
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().message.find("no/log"), std::string::npos) << failed.error().message;
}

TEST_F(Rest, ListsLoadsAndUnloadsModels) {
  models.add(pair_metadata());
  start({.tokens = Tokens::parse("user 0123456789abcdef\nadmin fedcba9876543210", kTokenHolders).value()});
  const std::string user = "Authorization: Bearer 0123456789abcdef\r\n",
                    admin = "Authorization: Bearer fedcba9876543210\r\n";
  const json index = ask_json(post("/v2/repository/index", "", user));
  EXPECT_EQ(index[0], json::parse(R"({"name":"m","version":"1","state":"READY"})"));
  EXPECT_EQ(index[1]["reason"], "the file is damaged");
  EXPECT_EQ(ask_json(post("/v2/repository/index", R"({"ready":true})", user)).size(), 1u);
  EXPECT_EQ(ask(post("/v2/repository/models/m/load", "", user)).status, 403);
  EXPECT_EQ(ask(post("/v2/repository/models/m/load", R"({"parameters":{"config":"{}"}})", admin)).status, 501);
  EXPECT_EQ(ask(post("/v2/repository/models/m/load", "", admin)).status, 200);
  EXPECT_EQ(ask(post("/v2/repository/models/m/unload", R"({"parameters":{"unload_dependents":false}})", admin)).status,
            200);
  EXPECT_EQ(models.changes(), (std::vector<std::string>{"load m for admin token", "unload m"}));
}

TEST_F(Rest, ATokenIsAskedBeforeABodyIsRead) {
  models.add(pair_metadata());
  start({.tokens = Tokens::parse("user 0123456789abcdef", kTokenHolders).value()});
  RawClient client(port);
  client.send("POST /v2/models/m/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");
  const RawReply refused = client.reply();
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.headers.at("www-authenticate"), "Bearer");
  EXPECT_TRUE(client.is_closed()) << "the body would be taken for a request";
  EXPECT_EQ(ask(get("/v2", "Authorization: Bearer wrong-wrong-wrong-wrong\r\n")).status, 403);
  EXPECT_EQ(ask(get("/v2/health/live")).status, 200);
  EXPECT_EQ(ask(post("/v2/models/m/infer", kInfer, "Authorization: Bearer 0123456789abcdef\r\n")).status, 200);
}

TEST_F(Rest, WithoutTokensNobodyLoads) {
  models.add(pair_metadata());
  start();
  const json refused = ask_json(post("/v2/repository/models/m/unload", ""), 403);
  EXPECT_NE(refused["error"].get<std::string>().find("--token-file"), std::string::npos);
  EXPECT_TRUE(models.changes().empty());
}

TEST_F(Rest, ClassifiesAnImage) {
  std::vector<float> pixels;
  models.add(image_metadata(), [&](const InferenceRequest& request, const AnswerSink& answer) {
    const std::span<const float> got = request.inputs.at(0).tensor.as<float>();
    pixels.assign(got.begin(), got.end());
    InferenceResponse response{.version = "1", .outputs = {{"scores", request.inputs[0].tensor.reshaped(Shape{1, 3})}}};
    answer(std::move(response));
  });
  models.add(pair_metadata());
  start();
  const std::string image = "P5\n3 1\n255\n" + std::string("\0\x80\xff", 3);
  const json answer = ask_json(post("/v2/models/colours/classify?k=2", image));
  ASSERT_EQ(pixels.size(), 3u);
  EXPECT_NEAR(pixels[0], -2, 1e-6) << "prepared as in training";
  EXPECT_NEAR(pixels[1], (128.0 / 255 - 0.5) / 0.25, 1e-6);
  EXPECT_NEAR(pixels[2], 2, 1e-6);
  EXPECT_EQ(answer["model_name"], "colours");
  ASSERT_EQ(answer["top"].size(), 2u);
  EXPECT_EQ(answer["top"][0]["class"], 2);
  EXPECT_EQ(answer["top"][0]["label"], "2") << "it has no name";
  EXPECT_EQ(answer["top"][1]["label"], "green");
  EXPECT_EQ(ask_json(post("/v2/models/colours/classify", image))["top"].size(), 3u);
  EXPECT_EQ(ask(post("/v2/models/colours/classify?k=0", image)).status, 400);
  EXPECT_EQ(ask(post("/v2/models/colours/classify", "no image")).status, 400);
  EXPECT_NE(ask_json(post("/v2/models/m/classify", image), 400)["error"].get<std::string>().find("takes no images"),
            std::string::npos);
}

TEST_F(Rest, UpdatesAModelForAnAdminAlone) {
  models.add(pair_metadata());
  start({.tokens = Tokens::parse("user 0123456789abcdef\nadmin fedcba9876543210\n", kTokenHolders).value()});
  const std::string user = "Authorization: Bearer 0123456789abcdef\r\n";
  const std::string admin = "Authorization: Bearer fedcba9876543210\r\n";
  const std::string path = "/v2/repository/models/m/update";
  EXPECT_EQ(ask(post(path, "network")).status, 401);
  EXPECT_EQ(ask(post(path, "network", user)).status, 403);
  for (const char* wrong : {"?share=0", "?share=0.6", "?share=x", "?share=0.1&requests=0", "?requests=10"})
    EXPECT_EQ(ask(post(path + wrong, "network", admin)).status, 400) << wrong;
  EXPECT_EQ(ask(post(path, "", admin)).status, 400) << "no network";
  EXPECT_EQ(models.changes(), std::vector<std::string>());
  EXPECT_EQ(ask_json(post(path, "network", admin)), json::parse(R"({"name":"m","version":"2"})"));
  EXPECT_EQ(ask(post(path + "?share=0.1&requests=30", "network", admin)).status, 200);
  EXPECT_EQ(models.changes(),
            (std::vector<std::string>{"update m network for admin token", "update m network 30 for admin token"}));
  const json service = ask_json(get("/v2/repository/models/m", user));
  EXPECT_EQ(service["versions"][0]["state"], "READY");
  EXPECT_EQ(ask(get("/v2/repository/models/other", user)).status, 404);
}

TEST_F(Rest, ThePageOfTheInterfaceHasEveryRoute) {
  models.add(pair_metadata());
  start();
  const json page = ask_json(get("/v2/openapi.json"));
  EXPECT_EQ(page["openapi"], "3.0.3");
  std::size_t calls = 0;
  for (const auto& [path, methods] : page["paths"].items()) calls += methods.size();
  EXPECT_EQ(calls, routes().size());
  for (const Route& route : routes()) {
    const std::string method = std::string(route.method) == "GET" ? "get" : "post";
    ASSERT_TRUE(page["paths"][route.path].contains(method)) << route.path;
    const json& call = page["paths"][route.path][method];
    EXPECT_FALSE(call["summary"].get<std::string>().empty());
    EXPECT_TRUE(call["responses"].contains("200")) << route.path;
  }
}

TEST_F(Rest, EveryRouteOfThePageIsServed) {
  models.add(pair_metadata());
  start();
  const json page = ask_json(get("/v2/openapi.json"));
  for (const auto& [path, methods] : page["paths"].items()) {
    std::string concrete = path;
    for (const auto& [place, value] : {std::pair("{model}", "m"), {"{version}", "1"}})
      if (const std::size_t at = concrete.find(place); at != std::string::npos)
        concrete.replace(at, std::string(place).size(), value);
    for (const auto& [method, call] : methods.items()) {
      const int status = ask(method == "get" ? get(concrete) : post(concrete, "")).status;
      EXPECT_TRUE(status == 200 || status == 400 || status == 403) << method << " " << concrete << ": " << status;
    }
  }
}

TEST_F(Rest, RefersOnlyToSchemasThatItHas) {
  start();
  const std::string text = ask(get("/v2/openapi.json")).body;
  const json page = json::parse(text);
  const std::string mark = "#/components/schemas/";
  std::size_t found = 0;
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    const std::size_t begin = at + mark.size();
    const std::string name = text.substr(begin, text.find('"', begin) - begin);
    EXPECT_TRUE(page["components"]["schemas"].contains(name)) << name;
    ++found;
  }
  EXPECT_GT(found, 10u);
}

TEST_F(Rest, StopWaitsForTheAnswersOfRequestsThatHaveCome) {
  std::promise<AnswerSink> asked;
  models.add(pair_metadata(), [&](const InferenceRequest&, AnswerSink answer) { asked.set_value(std::move(answer)); });
  start();
  RawClient client(port), idle(port);
  idle.send(get("/v2"));
  EXPECT_EQ(idle.reply().status, 200);
  client.send(post("/v2/models/m/infer", kInfer));
  const AnswerSink answer = asked.get_future().get();
  std::jthread stopping([this] { server->stop(60); });
  EXPECT_TRUE(idle.is_closed()) << "nothing is asked there";
  answer(InferenceResponse{.version = "1", .outputs = {}});
  EXPECT_EQ(client.reply().status, 200);
  EXPECT_TRUE(client.is_closed());
}

TEST_F(Rest, StopCutsWhatTakesTooLong) {
  std::promise<AnswerSink> asked;
  models.add(pair_metadata(), [&](const InferenceRequest&, AnswerSink answer) { asked.set_value(std::move(answer)); });
  start();
  RawClient client(port);
  client.send(post("/v2/models/m/infer", kInfer));
  const AnswerSink answer = asked.get_future().get();
  server->stop(0);
  answer(InferenceResponse{});  // nobody waits for it
}

}  // namespace
}  // namespace mangrove::serve
