#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/serve/http/raw_client.h"
#include "tests/serve/protocol/fake_models.h"

#include "mangrove/serve/server.h"

namespace mangrove::serve {

inline constexpr const char* kTraceHeader = "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n";

inline int port_of_address(const std::string& address) {
  return std::stoi(address.substr(address.rfind(':') + 1));
}

/// A server of REST alone, for models that a test has put there.
struct Rest : ::testing::Test {
  void start(ServerOptions options = {}) {
    options.http = "127.0.0.1:0";
    options.grpc = "";
    options.version = "1.2.3";
    auto started = Server::start(models, std::move(options));
    ASSERT_TRUE(started.ok()) << started.error().message;
    server = std::move(*started);
    port = port_of_address(server->http_address());
  }
  RawReply ask(const std::string& request) const {
    RawClient client(port);
    client.send(request);
    return client.reply();
  }
  nlohmann::json ask_json(const std::string& request, int status = 200) const {
    const RawReply reply = ask(request);
    EXPECT_EQ(reply.status, status) << reply.body;
    EXPECT_EQ(reply.headers.at("content-type"), "application/json");
    return nlohmann::json::parse(reply.body, nullptr, false);
  }

  FakeModels models;
  std::unique_ptr<Server> server;
  int port = 0;
};

}  // namespace mangrove::serve
