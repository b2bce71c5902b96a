// gRPC with the stub that the published messages make.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/base/temporary_folder.h"
#include "tests/cluster/test_identity.h"
#include "tests/serve/protocol/access_lines.h"
#include "tests/serve/protocol/fake_models.h"

#include "mangrove/serve/open_inference.grpc.pb.h"
#include "mangrove/serve/server.h"

namespace mangrove::serve {
namespace {

using identity::Role;
using Stub = inference::GRPCInferenceService::Stub;

struct Grpc : ::testing::Test {
  void start(ServerOptions options = {}) {
    options.http = "";
    options.grpc = "127.0.0.1:0";
    options.version = "1.2.3";
    auto started = Server::start(models, std::move(options));
    ASSERT_TRUE(started.ok()) << started.error().message;
    server = std::move(*started);
    stub = stub_with(grpc::InsecureChannelCredentials());
  }
  std::unique_ptr<Stub> stub_with(const std::shared_ptr<grpc::ChannelCredentials>& credentials) const {
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride(identity::kServerName);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return inference::GRPCInferenceService::NewStub(
        grpc::CreateCustomChannel(server->grpc_address(), credentials, arguments));
  }

  /// Calls a method of the stub, with this token unless it is "".
  template <class Request, class Response>
  static grpc::Status call(Stub& stub, grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                           const Request& request, Response& response, const std::string& token = "") {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
    return (stub.*method)(&context, request, &response);
  }

  FakeModels models;
  std::unique_ptr<Server> server;
  std::unique_ptr<Stub> stub;
};

/// x = [1, 2] as raw bytes.
inference::ModelInferRequest raw_request(const std::string& model = "m") {
  inference::ModelInferRequest request;
  request.set_model_name(model);
  request.set_id("42");
  auto& input = *request.add_inputs();
  input.set_name("x");
  input.set_datatype("FP32");
  input.add_shape(1);
  input.add_shape(2);
  request.add_raw_input_contents(std::string("\0\0\x80\x3f\0\0\0\x40", 8));
  return request;
}

TEST_F(Grpc, AnswersRawContents) {
  models.add(pair_metadata());
  start();
  inference::ModelInferResponse response;
  const grpc::Status status = call(*stub, &Stub::ModelInfer, raw_request(), response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.model_name(), "m");
  EXPECT_EQ(response.model_version(), "1");
  EXPECT_EQ(response.id(), "42");
  ASSERT_EQ(response.outputs_size(), 1);
  EXPECT_EQ(response.outputs(0).name(), "y");
  EXPECT_EQ(response.outputs(0).datatype(), "FP32");
  EXPECT_EQ(response.outputs(0).shape_size(), 2);
  EXPECT_EQ(response.raw_output_contents(0), raw_request().raw_input_contents(0));
}

TEST_F(Grpc, AnswersTypedContentsOfEveryType) {
  models.add(pair_metadata());
  start();
  const std::pair<const char*, void (*)(inference::InferTensorContents&)> fills[] = {
      {"FP32", [](inference::InferTensorContents& to) { to.add_fp32_contents(1); }},
      {"FP64", [](inference::InferTensorContents& to) { to.add_fp64_contents(1); }},
      {"INT32", [](inference::InferTensorContents& to) { to.add_int_contents(1); }},
      {"INT8", [](inference::InferTensorContents& to) { to.add_int_contents(1); }},
      {"INT64", [](inference::InferTensorContents& to) { to.add_int64_contents(1); }},
      {"UINT8", [](inference::InferTensorContents& to) { to.add_uint_contents(1); }},
      {"BOOL", [](inference::InferTensorContents& to) { to.add_bool_contents(true); }}};
  for (const auto& [datatype, fill] : fills) {
    inference::ModelInferRequest request = raw_request();
    request.clear_raw_input_contents();
    request.mutable_inputs(0)->set_datatype(datatype);
    for (int i = 0; i < 2; ++i) fill(*request.mutable_inputs(0)->mutable_contents());
    inference::ModelInferResponse response;
    const grpc::Status status = call(*stub, &Stub::ModelInfer, request, response);
    ASSERT_TRUE(status.ok()) << datatype << ": " << status.error_message();
    EXPECT_EQ(response.outputs(0).datatype(), datatype);
    EXPECT_FALSE(response.raw_output_contents(0).empty());
  }
}

TEST_F(Grpc, WhatIsMalformedIsNamed) {
  models.add(pair_metadata());
  start();
  const auto refused = [&](const std::function<void(inference::ModelInferRequest&)>& change) {
    inference::ModelInferRequest request = raw_request();
    change(request);
    inference::ModelInferResponse response;
    const grpc::Status status = call(*stub, &Stub::ModelInfer, request, response);
    EXPECT_NE(status.error_code(), grpc::StatusCode::INTERNAL) << status.error_message();
    return std::to_string(status.error_code()) + " " + status.error_message();
  };
  const auto starts = [](const std::string& text, const std::string& with) {
    EXPECT_EQ(text.substr(0, with.size()), with);
  };
  starts(refused([](auto& r) { r.set_raw_input_contents(0, "1234567"); }), "3 input 'x': it has 7 bytes");
  starts(refused([](auto& r) { r.add_raw_input_contents("1"); }), "3 the request has 1 inputs and 2 raw");
  starts(refused([](auto& r) { r.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1); }),
         "3 input 'x': it has contents, and the request has raw");
  starts(refused([](auto& r) { r.clear_raw_input_contents(); }), "3 input 'x': its contents have 0 elements");
  starts(refused([](auto& r) { r.mutable_inputs(0)->set_shape(0, -1); }),
         "3 input 'x': its shape has a dimension of -1");
  starts(refused([](auto& r) { r.mutable_inputs(0)->set_datatype("BYTES"); }),
         "12 input 'x': tensors of datatype BYTES");
  starts(refused([](auto& r) {
           r.clear_raw_input_contents();
           r.mutable_inputs(0)->set_datatype("INT8");
           for (const int value : {1, 128}) r.mutable_inputs(0)->mutable_contents()->add_int_contents(value);
         }),
         "3 input 'x': its contents have 128, which is no INT8");
  starts(refused([](auto& r) { (*r.mutable_parameters())["priority"].set_string_param("high"); }),
         "3 parameter 'priority' is not a whole number");
  starts(refused([](auto& r) { (*r.mutable_parameters())["sequence_id"].set_int64_param(1); }), "12 parameter");
  starts(refused([](auto& r) { r.set_model_name("n"); }), "5 unknown model 'n'");
}

TEST_F(Grpc, HandsPriorityTimeoutAndTheCallsDeadlineToTheModel) {
  std::vector<InferenceRequest> seen;
  models.add(pair_metadata(), [&](InferenceRequest request, const AnswerSink& answer) {
    seen.push_back(request);
    echo(std::move(request), answer);
  });
  start();
  const SteadyClock clock;
  inference::ModelInferRequest request = raw_request();
  (*request.mutable_parameters())["priority"].set_int64_param(1);
  inference::ModelInferResponse response;
  ASSERT_TRUE(call(*stub, &Stub::ModelInfer, request, response).ok());
  (*request.mutable_parameters())["timeout"].set_int64_param(1'000'000);
  ASSERT_TRUE(call(*stub, &Stub::ModelInfer, request, response).ok());
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].priority, 49);
  EXPECT_EQ(seen[0].id, "42");
  EXPECT_NEAR(seen[0].deadline - clock.now(), 30, 10) << "that of the call";
  EXPECT_LE(seen[1].deadline - clock.now(), 1);
}

TEST_F(Grpc, ErrorsKeepTheirCode) {
  for (const Code code : {Code::resource_exhausted, Code::deadline_exceeded, Code::unavailable, Code::internal})
    models.add(pair_metadata(code_name(code)), refuse_with(code, "it says why"));
  start();
  for (const Code code : {Code::resource_exhausted, Code::deadline_exceeded, Code::unavailable, Code::internal}) {
    inference::ModelInferResponse response;
    const grpc::Status status = call(*stub, &Stub::ModelInfer, raw_request(code_name(code)), response);
    EXPECT_EQ(static_cast<int>(status.error_code()), static_cast<int>(code));
    EXPECT_EQ(status.error_message(), "it says why");
  }
  EXPECT_EQ(server->traffic().refused, 1u);
}

TEST_F(Grpc, DescribesItselfAndItsModels) {
  const auto model = models.add(pair_metadata());
  model->counts.inferences = 12;
  model->counts.success = {7, 700};
  model->counts.batches[4].compute_infer = {3, 4};
  start();
  inference::ServerLiveResponse live;
  ASSERT_TRUE(call(*stub, &Stub::ServerLive, {}, live).ok());
  EXPECT_TRUE(live.live());
  inference::ServerReadyResponse ready;
  ASSERT_TRUE(call(*stub, &Stub::ServerReady, {}, ready).ok());
  EXPECT_TRUE(ready.ready());
  inference::ServerMetadataResponse about;
  ASSERT_TRUE(call(*stub, &Stub::ServerMetadata, {}, about).ok());
  EXPECT_EQ(about.name() + " " + about.version(), "mangrove 1.2.3");
  EXPECT_GT(about.extensions_size(), 3);

  inference::ModelReadyRequest of;
  of.set_name("m");
  inference::ModelReadyResponse model_ready;
  ASSERT_TRUE(call(*stub, &Stub::ModelReady, of, model_ready).ok());
  EXPECT_TRUE(model_ready.ready());
  of.set_version("9");
  ASSERT_TRUE(call(*stub, &Stub::ModelReady, of, model_ready).ok());
  EXPECT_FALSE(model_ready.ready());

  inference::ModelMetadataRequest which;
  which.set_name("m");
  inference::ModelMetadataResponse metadata;
  ASSERT_TRUE(call(*stub, &Stub::ModelMetadata, which, metadata).ok());
  EXPECT_EQ(metadata.ShortDebugString(),
            "name: \"m\" versions: \"1\" platform: \"onnx_mangrove\" inputs { name: \"x\" datatype: \"FP32\" shape: -1 "
            "shape: 2 } outputs { name: \"y\" datatype: \"FP32\" shape: -1 shape: 2 }");
  inference::ModelConfigRequest whose;
  whose.set_name("m");
  inference::ModelConfigResponse config;
  ASSERT_TRUE(call(*stub, &Stub::ModelConfig, whose, config).ok());
  EXPECT_EQ(config.config().max_batch_size(), 16);
  EXPECT_EQ(config.config().input(0).data_type(), inference::TYPE_FP32);
  EXPECT_EQ(config.config().input(0).dims_size(), 1) << "without the batch";
  EXPECT_EQ(config.config().parameters().at("author").string_value(), "ann");

  inference::ModelStatisticsResponse statistics;
  ASSERT_TRUE(call(*stub, &Stub::ModelStatistics, {}, statistics).ok());
  ASSERT_EQ(statistics.model_stats_size(), 1);
  EXPECT_EQ(statistics.model_stats(0).inference_count(), 12u);
  EXPECT_EQ(statistics.model_stats(0).inference_stats().success().ns(), 700u);
  EXPECT_EQ(statistics.model_stats(0).batch_stats(0).batch_size(), 4u);
  inference::RepositoryIndexRequest ready_ones;
  ready_ones.set_ready(true);
  inference::RepositoryIndexResponse index;
  ASSERT_TRUE(call(*stub, &Stub::RepositoryIndex, ready_ones, index).ok());
  EXPECT_EQ(index.models_size(), 1);
}

TEST_F(Grpc, TokensSayWhoMayLoad) {
  models.add(pair_metadata());
  start({.tokens = Tokens::parse("user 0123456789abcdef\nadmin fedcba9876543210", kTokenHolders).value()});
  inference::RepositoryModelLoadRequest load;
  load.set_model_name("m");
  inference::RepositoryModelLoadResponse loaded;
  inference::ModelInferResponse response;
  const auto code = [](const grpc::Status& status) { return status.error_code(); };
  EXPECT_EQ(code(call(*stub, &Stub::ModelInfer, raw_request(), response)), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(code(call(*stub, &Stub::ModelInfer, raw_request(), response, "0123456789abcdef")), grpc::StatusCode::OK);
  EXPECT_EQ(code(call(*stub, &Stub::RepositoryModelLoad, load, loaded, "0123456789abcdef")),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(code(call(*stub, &Stub::RepositoryModelLoad, load, loaded, "fedcba9876543210")), grpc::StatusCode::OK);
  EXPECT_EQ(models.changes(), std::vector<std::string>{"load m for admin token"});
  inference::ServerLiveResponse live;
  EXPECT_EQ(code(call(*stub, &Stub::ServerLive, {}, live)), grpc::StatusCode::OK);
}

TEST_F(Grpc, MembersShowACertificateAndStrangersAToken) {
  const auto own = cluster::test_credentials(Role::node, "edge");
  models.add(pair_metadata());
  start({.credentials = own, .tokens = Tokens::parse("user 0123456789abcdef", kTokenHolders).value()});
  const auto ann = cluster::test_credentials(Role::client, "ann"),
             viewer = cluster::test_credentials(Role::viewer, "vic");
  inference::ModelInferResponse response;
  const auto asked = [&](const std::shared_ptr<grpc::ChannelCredentials>& credentials, const std::string& token) {
    return call(*stub_with(credentials), &Stub::ModelInfer, raw_request(), response, token).error_code();
  };
  EXPECT_EQ(asked(net::channel_credentials(ann.get(), {Role::node}), ""), grpc::StatusCode::OK);
  EXPECT_EQ(asked(net::channel_credentials(viewer.get(), {Role::node}), ""), grpc::StatusCode::PERMISSION_DENIED);
  const auto stranger = net::stranger_credentials(own->identity().authorities().front(), {Role::node});
  EXPECT_EQ(asked(stranger, ""), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(asked(stranger, "0123456789abcdef"), grpc::StatusCode::OK);
}

TEST_F(Grpc, ATraceGoesOnInTheModelAndInTheAccessLog) {
  const auto own = cluster::test_credentials(Role::node, "edge"), ann = cluster::test_credentials(Role::client, "ann");
  std::vector<std::string> traces;
  models.add(pair_metadata(), [&](const InferenceRequest& request, const AnswerSink& answer) {
    traces.push_back(request.trace_id);
    answer(InferenceResponse{.version = "1", .outputs = {}, .queued = 0.001, .computed = 0.002});
  });
  const testing::TemporaryFolder folder;
  start({.credentials = own, .access_log = folder / "access.jsonl"});
  const auto asking = stub_with(net::channel_credentials(ann.get(), {Role::node}));
  const auto ask = [&](const std::vector<std::string>& traceparents, const std::string& model = "m") {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    for (const std::string& one : traceparents) context.AddMetadata("traceparent", one);
    inference::ModelInferResponse response;
    const auto code = asking->ModelInfer(&context, raw_request(model), &response).error_code();
    EXPECT_FALSE(context.GetServerInitialMetadata().contains("traceresponse"));
    EXPECT_FALSE(context.GetServerTrailingMetadata().contains("traceresponse"));
    return code;
  };
  const std::string traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  EXPECT_EQ(ask({traceparent}), grpc::StatusCode::OK);
  EXPECT_EQ(ask({}), grpc::StatusCode::OK);
  EXPECT_EQ(ask({"malformed"}), grpc::StatusCode::OK);
  EXPECT_EQ(ask({traceparent, traceparent}), grpc::StatusCode::OK);
  EXPECT_EQ(ask({traceparent}, "n"), grpc::StatusCode::NOT_FOUND);
  server.reset();
  const std::vector<nlohmann::json> lines = access_lines(folder / "access.jsonl");
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0]["protocol"], "grpc");
  EXPECT_EQ(lines[0]["client"], "mangrove://client/ann");
  EXPECT_TRUE(lines[0]["from"].get<std::string>().starts_with("127.0.0.1:")) << lines[0];
  EXPECT_EQ(lines[0]["id"], "42");
  EXPECT_EQ(lines[0]["version"], "1");
  EXPECT_EQ(lines[0]["status"], 200);
  EXPECT_EQ(lines[0]["computed_ms"], 2);
  EXPECT_EQ(lines[0]["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(lines[4]["status"], 404);
  EXPECT_EQ(lines[4]["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736");
  ASSERT_EQ(traces.size(), 4u);
  for (std::size_t i = 0; i < traces.size(); ++i) {
    EXPECT_EQ(lines[i]["trace_id"], traces[i]) << i;
    EXPECT_EQ(lines[i]["parent_id"], i == 0 ? "00f067aa0ba902b7" : "") << i;
    if (i > 0) {
      EXPECT_NE(traces[i], traces[i - 1]);
    }
  }
}

TEST_F(Grpc, WithoutTokensAStrangerFailsInTheHandshake) {
  const auto own = cluster::test_credentials(Role::node, "edge");
  models.add(pair_metadata());
  start({.credentials = own});
  inference::ModelInferResponse response;
  const auto stranger = net::stranger_credentials(own->identity().authorities().front(), {Role::node});
  EXPECT_EQ(call(*stub_with(stranger), &Stub::ModelInfer, raw_request(), response).error_code(),
            grpc::StatusCode::UNAVAILABLE);
}

TEST_F(Grpc, ARequestOverTheLimitIsRefused) {
  models.add(pair_metadata());
  start({.limits = {.max_request = 1000}});
  inference::ModelInferRequest request = raw_request();
  request.set_raw_input_contents(0, std::string(2000, 'x'));
  inference::ModelInferResponse response;
  EXPECT_EQ(call(*stub, &Stub::ModelInfer, request, response).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(Grpc, StopWaitsForTheAnswersOfRequestsThatHaveCome) {
  std::promise<AnswerSink> asked;
  models.add(pair_metadata(), [&](const InferenceRequest&, AnswerSink answer) { asked.set_value(std::move(answer)); });
  start();
  auto called = std::async(std::launch::async, [&] {
    inference::ModelInferResponse response;
    return call(*stub, &Stub::ModelInfer, raw_request(), response);
  });
  const AnswerSink answer = asked.get_future().get();
  std::jthread stopping([this] { server->stop(20); });
  answer(InferenceResponse{.version = "1", .outputs = {}});
  EXPECT_TRUE(called.get().ok());
}

TEST_F(Grpc, StopCutsRequestsThatAreNotAnsweredInTime) {
  std::promise<AnswerSink> asked;
  models.add(pair_metadata(), [&](const InferenceRequest&, AnswerSink answer) { asked.set_value(std::move(answer)); });
  start();
  auto called = std::async(std::launch::async, [&] {
    inference::ModelInferResponse response;
    return call(*stub, &Stub::ModelInfer, raw_request(), response);
  });
  const AnswerSink answer = asked.get_future().get();
  auto stopped = std::async(std::launch::async, [this] { server->stop(0.1); });
  EXPECT_EQ(stopped.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  answer(InferenceResponse{.version = "1", .outputs = {}});  // too late: nobody waits for it
  EXPECT_FALSE(called.get().ok());
}

TEST(ServerStart, NeedsAnAddress) {
  FakeModels models;
  EXPECT_EQ(Server::start(models, {.http = "", .grpc = ""}).code(), Code::invalid_argument);
  EXPECT_EQ(Server::start(models, {.http = "nowhere", .grpc = ""}).code(), Code::invalid_argument);
  EXPECT_EQ(Server::start(models, {.http = "", .grpc = "0.0.0.0:0"}).code(), Code::failed_precondition);
}

}  // namespace
}  // namespace mangrove::serve
