// The client against this program's server, and against servers that a test writes by hand: also those that lie.
#include "mangrove/serve/client/open_inference_client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "tests/cluster/test_identity.h"
#include "tests/serve/protocol/fake_models.h"
#include "tests/serve/scripted_server.h"

#include "mangrove/identity/authority.h"
#include "mangrove/serve/server.h"

namespace mangrove::serve {
namespace {

InferenceRequest pair_request(float a, float b, std::int64_t samples = 1) {
  Tensor x(DType::f32, Shape{samples, 2});
  for (std::size_t i = 0; i < static_cast<std::size_t>(samples); ++i) {
    x.as<float>()[2 * i] = a;
    x.as<float>()[2 * i + 1] = b;
  }
  InferenceRequest request;
  request.inputs.push_back({"x", std::move(x)});
  return request;
}

ServerAccess access_to(int port, Seconds within = 30) {
  return {.url = {.has_tls = false, .host = "127.0.0.1", .port = port}, .call_within = within};
}

struct ClientOfServer : ::testing::Test {
  void start(ServerOptions options = {}) {
    options.http = "127.0.0.1:0";
    options.grpc = "";
    options.version = "1.2.3";
    auto started = Server::start(models, std::move(options));
    ASSERT_TRUE(started.ok()) << started.error().message;
    server = std::move(*started);
    port = std::stoi(server->http_address().substr(server->http_address().rfind(':') + 1));
  }

  FakeModels models;
  std::unique_ptr<Server> server;
  int port = 0;
};

TEST_F(ClientOfServer, ReadsWhatTheServerSaysOfItself) {
  models.add(pair_metadata("name with / and %"));
  start();
  OpenInferenceClient client(access_to(port), {});
  const auto description = client.server();
  ASSERT_TRUE(description.ok()) << description.error().message;
  EXPECT_EQ(description->version, "1.2.3");
  EXPECT_TRUE(description->offers("binary_tensor_data"));
  const auto name = client.only_model();
  ASSERT_TRUE(name.ok()) << name.error().message;
  const auto metadata = client.metadata(*name);
  ASSERT_TRUE(metadata.ok()) << metadata.error().message;
  EXPECT_EQ(metadata->name, "name with / and %");
  EXPECT_EQ(metadata->version, "1");
  EXPECT_EQ(metadata->inputs.at(0).shape, (std::vector<std::int64_t>{-1, 2}));
  EXPECT_EQ(metadata->properties.at("author"), "ann");
  EXPECT_EQ(client.metadata("other").code(), Code::not_found);
}

TEST_F(ClientOfServer, GetsTheSameBitsAsBytesAndAsJson) {
  models.add(pair_metadata());
  start();
  OpenInferenceClient client(access_to(port), {});
  const auto metadata = client.metadata("m");
  ASSERT_TRUE(metadata.ok());
  for (const bool as_bytes : {true, false}) {
    const auto answer = client.infer(*metadata, pair_request(0.1F, -3e-30F, 3), 3, as_bytes);
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    EXPECT_EQ(answer->version, "1");
    const Tensor& y = answer->outputs.at(0).tensor;
    ASSERT_EQ(y.shape(), (Shape{3, 2}));
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(y.as<float>()[2 * i], 0.1F);
      EXPECT_EQ(y.as<float>()[2 * i + 1], -3e-30F);
    }
  }
}

TEST_F(ClientOfServer, RepeatsWhatTheServerHasNoRoomFor) {
  std::atomic<int> asked = 0;
  models.add(pair_metadata(), [&](InferenceRequest request, const AnswerSink& answer) {
    if (++asked < 3) return answer(make_error(Code::resource_exhausted, "the queue is full"));
    echo(std::move(request), answer);
  });
  start();
  OpenInferenceClient client(access_to(port), {});
  const auto answer = client.infer(pair_metadata(), pair_request(1, 2), 1, true);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(client.repeated(), 2);
}

TEST_F(ClientOfServer, GivesUpBeforeAPauseThatEndsAfterItsDeadline) {
  models.add(pair_metadata(), refuse_with(Code::unavailable, "not loaded"));
  start();
  const SteadyClock clock;
  const Instant began = clock.now();
  OpenInferenceClient client(access_to(port, 0.5), {});
  const auto answer = client.infer(pair_metadata(), pair_request(1, 2), 1, true);
  EXPECT_EQ(answer.code(), Code::unavailable);
  EXPECT_NE(answer.error().message.find("not loaded"), std::string::npos) << answer.error().message;
  EXPECT_EQ(client.repeated(), 0) << "the server asks for a pause of a second";
  EXPECT_LT(clock.now() - began, 20);
}

TEST_F(ClientOfServer, DoesNotRepeatWhatIsWrong) {
  models.add(pair_metadata(), refuse_with(Code::invalid_argument, "input 'x' is wrong"));
  start();
  OpenInferenceClient client(access_to(port), {});
  const auto answer = client.infer(pair_metadata(), pair_request(1, 2), 1, false);
  EXPECT_EQ(answer.code(), Code::invalid_argument);
  EXPECT_NE(answer.error().message.find("input 'x' is wrong"), std::string::npos) << answer.error().message;
  EXPECT_EQ(client.repeated(), 0);
}

TEST_F(ClientOfServer, ShowsItsToken) {
  models.add(pair_metadata());
  start({.tokens = Tokens::parse("user 0123456789abcdef\n", kTokenHolders).value()});
  ServerAccess access = access_to(port);
  EXPECT_EQ(OpenInferenceClient(access, {}).server().code(), Code::permission_denied);
  access.token = "0123456789abcdef";
  EXPECT_TRUE(OpenInferenceClient(access, {}).server().ok());
}

TEST_F(ClientOfServer, TrustsTheAuthorityAndTheNameThatItExpectsAlone) {
  const identity::Authority authority = identity::Authority::make(identity::wall_now());
  const identity::Authority other = identity::Authority::make(identity::wall_now());
  const auto identity_of = [&](identity::Role role, const char* name) {
    return identity::Identity::make(authority, {role, name}, identity::wall_now());
  };
  models.add(pair_metadata());
  start({.credentials = net::Credentials::of(identity_of(identity::Role::node, "server"))});
  const auto ask_as = [&](const TlsClientOptions& options) {
    ServerAccess access = access_to(port);
    access.url.has_tls = true;
    access.tls = TlsClient::create(options).value();
    return OpenInferenceClient(access, {}).server();
  };
  const auto own = std::make_shared<const identity::Identity>(identity_of(identity::Role::client, "ann"));
  const auto good = ask_as({.own = own, .server_name = "mangrove"});
  EXPECT_TRUE(good.ok()) << good.error().message;
  EXPECT_EQ(ask_as({.own = own, .server_name = "elsewhere"}).code(), Code::permission_denied);
  EXPECT_EQ(ask_as({.authorities = other.certificate().pem(), .server_name = "mangrove"}).code(),
            Code::permission_denied);
  const auto stranger = ask_as({.authorities = authority.certificate().pem(), .server_name = "mangrove"});
  EXPECT_EQ(stranger.code(), Code::permission_denied) << "it has shown no certificate";
}

std::string json_reply(const std::string& body, const std::string& more = "") {
  return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n" + more + "\r\n" + body;
}

struct Lie {
  const char* name;
  std::string reply;
  Code code;
  const char* said;
};
class LyingServer : public ::testing::TestWithParam<Lie> {};

TEST_P(LyingServer, IsFoundOut) {
  ScriptedServer server({GetParam().reply});
  ServerAccess access = access_to(server.port(), 5);
  access.most_answer = 100'000;
  OpenInferenceClient client(access, {});
  const auto answer = client.infer(pair_metadata(), pair_request(1, 2), 1, true);
  EXPECT_EQ(answer.code(), GetParam().code);
  EXPECT_NE(answer.error().message.find(GetParam().said), std::string::npos) << answer.error().message;
}

std::string output(const std::string& more) {
  return R"({"model_version":"1","outputs":[{"name":"y","datatype":"FP32",)" + more + "}]}";
}

std::vector<Lie> lies() {
  const std::string good = output(R"("shape":[1,2],"parameters":{"binary_data_size":8})");
  const std::string length = "Inference-Header-Content-Length: ";
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "[";
  return {
      {"no_http", "hello\r\n\r\n", Code::data_loss, "no answer of HTTP"},
      {"long_header", "HTTP/1.1 200 OK\r\nX: " + std::string(40'000, 'x'), Code::data_loss, "16 KiB"},
      {"long_body", json_reply(std::string(200'000, ' ')), Code::resource_exhausted, "longer than"},
      {"long_chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n30D40\r\n" + std::string(200'000, ' '),
       Code::resource_exhausted, "longer than"},
      {"no_json", json_reply("{"), Code::data_loss, "no JSON"},
      {"deep", json_reply(deep), Code::data_loss, "32 deep"},
      {"list", json_reply("[]"), Code::data_loss, "no list 'outputs'"},
      {"no_output", json_reply(R"({"outputs":[]})"), Code::data_loss, "0 outputs"},
      {"other_output", json_reply(R"({"outputs":[{"name":"z","datatype":"FP32","shape":[1,2],"data":[1,2]}]})"),
       Code::data_loss, "'z'"},
      {"other_shape", json_reply(output(R"("shape":[2,1],"data":[1,2])")), Code::data_loss, "expected FP32 [1, 2]"},
      {"huge_shape", json_reply(output(R"("shape":[1000000000,1000000],"data":[1,2])")), Code::data_loss, "'y'"},
      {"null", json_reply(output(R"("shape":[1,2],"data":[1,null])")), Code::data_loss, "null"},
      {"few_bytes", json_reply(good + "1234", length + std::to_string(good.size()) + "\r\n"), Code::data_loss,
       "only 4 bytes"},
      {"many_bytes", json_reply(good + "123456789", length + std::to_string(good.size()) + "\r\n"), Code::data_loss,
       "behind its outputs"},
      {"no_length", json_reply(good), Code::data_loss, "no header Inference-Header-Content-Length"},
      {"wrong_length", json_reply(good, length + "999999\r\n"), Code::data_loss, "does not fit its body"},
  };
}
INSTANTIATE_TEST_SUITE_P(Client, LyingServer, ::testing::ValuesIn(lies()),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(OpenInferenceClientCall, AsksAgainWhereAConnectionBreaks) {
  ScriptedServer server({"HTTP/1.1 200 OK\r\nContent-Le", json_reply(output(R"("shape":[1,2],"data":[3,4])"))});
  OpenInferenceClient client(access_to(server.port()), {});
  const auto answer = client.infer(pair_metadata(), pair_request(1, 2), 1, false);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->outputs.at(0).tensor.as<float>()[1], 4);
  EXPECT_EQ(client.repeated(), 1);
}

const HttpCall kChange{.method = "POST", .target = "/change", .body = "{}", .is_idempotent = false};

TEST(OpenInferenceClientCall, DoesNotRepeatAChangeWhoseConnectionBreaks) {
  ScriptedServer server({"HTTP/1.1 200 OK\r\nContent-Le", json_reply("{}")});
  OpenInferenceClient client(access_to(server.port()), {});
  const auto answer = client.call(kChange);
  EXPECT_EQ(answer.code(), Code::aborted);
  EXPECT_NE(answer.error().message.find("may have done"), std::string::npos) << answer.error().message;
  EXPECT_EQ(client.repeated(), 0);
  EXPECT_EQ(server.asked(), 1);
}

TEST(OpenInferenceClientCall, RepeatsAChangeThatTheServerHasNotBegun) {
  ScriptedServer server(
      {"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n", json_reply("{}")});
  OpenInferenceClient client(access_to(server.port()), {});
  const auto answer = client.call(kChange);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(client.repeated(), 1);
  EXPECT_EQ(server.asked(), 2);
}

TEST(OpenInferenceClientCall, ASilentServerIsNotWaitedForLongerThanTheDeadline) {
  ScriptedServer server({""}, /*hangs_up=*/false);
  OpenInferenceClient client(access_to(server.port(), 0.2), {});
  EXPECT_EQ(client.server().code(), Code::deadline_exceeded);
}

TEST(ServerUrl, IsReadAsPeopleWriteIt) {
  const auto plain = parse_server_url("http://edge.local:8000/");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->to_string(), "http://edge.local:8000");
  EXPECT_EQ(parse_server_url("https://edge.local").value().port, 443);
  EXPECT_EQ(parse_server_url("http://[::1]").value().to_string(), "http://[::1]:80");
  for (const char* wrong : {"", "edge.local:8000", "ftp://a:1", "http://", "http://a:0", "http://a:99999",
                            "http://a:1/v2", "http://user@a:1", "http://a b:1"})
    EXPECT_EQ(parse_server_url(wrong).code(), Code::invalid_argument) << wrong;
}

}  // namespace
}  // namespace mangrove::serve
