// What anybody may send, and how slowly: the server answers what is a request, and lets go of everything else.
#include "mangrove/serve/http/http_server.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <future>
#include <thread>
#include <vector>

#include "tests/base/eventually.h"
#include "tests/cluster/test_identity.h"
#include "tests/serve/http/raw_client.h"

namespace mangrove::serve {
namespace {

using identity::Authority;
using identity::Identity;
using identity::Role;
using identity::wall_now;
using namespace std::string_literals;

/// Says what it was asked: "METHOD TARGET MEMBER: BODY". Refuses /refused.
class EchoHandler final : public HttpHandler {
 public:
  std::optional<HttpResponse> refuse(const HttpHead& head) const override {
    if (head.target == "/refused") return error(head, 403, "not here");
    return std::nullopt;
  }
  HttpResponse answer(HttpRequest request, const std::stop_token& /*stop*/) override {
    if (hold.valid() && request.head.target == "/held") {
      ++held;
      hold.wait();
    }
    if (request.head.target == "/pieces") return pieces();
    const std::string member = request.head.member ? request.head.member->uri() : "-";
    HttpResponse response;
    response.content_type = "text/plain";
    response.body = request.head.method + " " + request.head.target + " " + member + ": " + request.body;
    return response;
  }
  HttpResponse error(const HttpHead& /*head*/, int status, const std::string& message) const override {
    HttpResponse response;
    response.status = status;
    response.content_type = "text/plain";
    response.body = message;
    return response;
  }

  /// Pieces "1", "2", ... as far as `given` says, and then the end.
  HttpResponse pieces() {
    HttpResponse response;
    response.content_type = "text/plain";
    response.stream = [this, next = 1](const std::stop_token& stop) mutable -> std::string {
      const SteadyClock clock;
      while (next > given && !stop.stop_requested()) SteadyClock().sleep_until(clock.after(0.005));
      if (stop.stop_requested() || next > last) return "";
      return std::to_string(next++);
    };
    response.is_endless = is_endless;
    return response;
  }

  std::shared_future<void> hold;  // requests of /held wait for it
  std::atomic<int> given = 1, last = 1'000'000;
  bool is_endless = false;  // what the pieces are called
  std::atomic<int> held = 0;
};

struct Http : ::testing::Test {
  void start(const HttpLimits& limits = {}, std::shared_ptr<const net::Credentials> credentials = nullptr) {
    auto started = HttpServer::start({"127.0.0.1", 0}, handler, std::move(credentials), false, limits);
    ASSERT_TRUE(started.ok()) << started.error().message;
    server = std::move(*started);
  }
  RawReply ask(const std::string& request) const {
    RawClient client(server->port());
    client.send(request);
    return client.reply();
  }

  EchoHandler handler;
  std::unique_ptr<HttpServer> server;
};

TEST_F(Http, AnswersWhatItIsAsked) {
  start();
  EXPECT_EQ(ask(get("/a?b=c%20d")).body, "GET /a?b=c%20d -: ");
  EXPECT_EQ(ask(post("/a", "body")).body, "POST /a -: body");
  EXPECT_EQ(ask("post / HTTP/1.1\r\n\r\n").status, 400);
}

TEST_F(Http, OneConnectionCarriesManyRequests) {
  start();
  RawClient client(server->port());
  client.send(get("/1") + post("/2", "two") + get("/3"));
  EXPECT_EQ(client.reply().body, "GET /1 -: ");
  EXPECT_EQ(client.reply().body, "POST /2 -: two");
  EXPECT_EQ(client.reply().body, "GET /3 -: ");
  client.send(get("/4", "Connection: close\r\n"));
  EXPECT_EQ(client.reply().headers.at("connection"), "close");
  EXPECT_TRUE(client.is_closed());
}

TEST_F(Http, AConnectionEndsAfterSoManyRequests) {
  start({.requests_per_connection = 2});
  RawClient client(server->port());
  client.send(get("/1") + get("/2") + get("/3"));
  EXPECT_EQ(client.reply().status, 200);
  EXPECT_EQ(client.reply().headers.at("connection"), "close");
  EXPECT_TRUE(client.is_closed());
}

TEST_F(Http, PiecesAreSentAsTheyCome) {
  start({.send_within = 30});
  RawClient client(server->port());
  client.send(get("/pieces"));
  EXPECT_EQ(client.reply(false).headers.at("transfer-encoding"), "chunked");
  EXPECT_EQ(client.piece(), "1") << "before there is a second one";
  handler.given = 3;
  EXPECT_EQ(client.piece(), "2");
  EXPECT_EQ(client.piece(), "3");
  handler.last = 3;
  handler.given = 4;
  EXPECT_EQ(client.piece(), "");
  EXPECT_TRUE(client.is_closed());
}

TEST_F(Http, WhoHangsUpInTheMiddleOfAStreamLeavesNoThread) {
  start({.max_connections = 1});
  {
    RawClient client(server->port());
    client.send(get("/pieces"));
    EXPECT_EQ(client.reply(false).status, 200);
    EXPECT_EQ(client.piece(), "1");
  }
  handler.given = 1'000'000;  // what is written now finds nobody
  EXPECT_TRUE(eventually([&] { return ask(get("/a")).status == 200; })) << "the only place is free again";
}

TEST_F(Http, AnOldClientGetsNoPieces) {
  start();
  EXPECT_EQ(ask("GET /pieces HTTP/1.0\r\n\r\n").status, 505);
}

TEST_F(Http, AStreamEndsWithTheServer) {
  start();
  RawClient client(server->port());
  client.send(get("/pieces"));
  EXPECT_EQ(client.reply(false).status, 200);
  EXPECT_EQ(client.piece(), "1");
  server->stop(0.1);
  EXPECT_TRUE(client.is_closed() || client.piece().empty());
}

TEST_F(Http, AServerThatClosesSendsAStreamToItsEnd) {
  handler.last = 2;
  start();
  RawClient client(server->port());
  client.send(get("/pieces"));
  EXPECT_EQ(client.reply(false).status, 200);
  EXPECT_EQ(client.piece(), "1");
  std::jthread closing([this] { server->stop(60); });
  EXPECT_TRUE(eventually([&] { return !RawClient(server->port()).is_open(); }));
  handler.given = 3;  // only now
  EXPECT_EQ(client.piece(), "2");
  EXPECT_EQ(client.piece(), "");
}

TEST_F(Http, AServerThatClosesEndsAStreamWithoutAnEnd) {
  handler.is_endless = true;
  start();
  RawClient client(server->port());
  client.send(get("/pieces"));
  EXPECT_EQ(client.reply(false).status, 200);
  EXPECT_EQ(client.piece(), "1");
  std::jthread closing([this] { server->stop(60); });
  EXPECT_TRUE(eventually([&] { return !RawClient(server->port()).is_open(); }));
  handler.given = 1'000'000;
  while (!client.piece().empty()) continue;  // pieces until it closed
  EXPECT_TRUE(client.is_closed());
}

TEST_F(Http, HeadHasNoBody) {
  start();
  RawClient client(server->port());
  client.send("HEAD /a HTTP/1.1\r\n\r\n" + get("/b"));
  const RawReply head = client.reply(false);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-length"), "10");
  EXPECT_EQ(client.reply().body, "GET /b -: ");
}

TEST_F(Http, AnOldClientGetsItsAnswerAndTheEnd) {
  start();
  RawClient client(server->port());
  client.send("GET /a HTTP/1.0\r\n\r\n");
  EXPECT_EQ(client.reply().body, "GET /a -: ");
  EXPECT_TRUE(client.is_closed());
}

TEST_F(Http, AClientMayAskBeforeItSendsABody) {
  start({.max_request = 100});
  RawClient client(server->port());
  client.send("POST /a HTTP/1.1\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.reply().status, 100);
  client.send("body");
  EXPECT_EQ(client.reply().body, "POST /a -: body");
  client.send("POST /a HTTP/1.1\r\nContent-Length: 101\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.reply().status, 413);
  EXPECT_TRUE(client.is_closed());
}

TEST_F(Http, ABodyOverTheLimitIsNotRead) {
  start({.max_request = 1000});
  EXPECT_EQ(ask(post("/a", std::string(1000, 'x'))).status, 200);
  RawClient client(server->port());
  client.send("POST /a HTTP/1.1\r\nContent-Length: 9000000000000000000\r\n\r\n");
  EXPECT_EQ(client.reply().status, 413);
  EXPECT_TRUE(client.is_closed());
  EXPECT_EQ(ask(post("/a", std::string(500'000, 'x'))).status, 413) << "it hears so though it sends on";
}

TEST_F(Http, ABodyMayBeCompressedAndIsLimitedAllTheSame) {
  // 100,000 blanks
  const std::string gzip =
      "\037\213\010\000\000\000\000\000\002\003\355\301\061\001\000\000\000\302\240\052\353\237\322\032"
      "\036\100\001\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
      "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
      "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
      "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
      "\000\000\000\257\006\055\360\171\312\240\206\001\000"s;
  start();
  EXPECT_EQ(ask(post("/a", gzip, "Content-Encoding: gzip\r\n")).body.size(), 100'000 + "POST /a -: "s.size());
  server.reset();
  start({.max_request = 10'000});
  EXPECT_EQ(ask(post("/a", gzip, "Content-Encoding: gzip\r\n")).status, 413);
}

TEST_F(Http, BodiesThatAreThereAtOnceHaveABound) {
  std::promise<void> go_on;
  handler.hold = go_on.get_future().share();
  start({.max_request = 1000, .room = 1500});
  RawClient first(server->port());
  first.send(post("/held", std::string(1000, 'x')));
  ASSERT_TRUE(eventually([&] { return handler.held == 1; }));
  const RawReply refused = ask(post("/a", std::string(1000, 'y')));
  EXPECT_EQ(refused.status, 503);
  go_on.set_value();
  EXPECT_EQ(first.reply().status, 200);
  EXPECT_TRUE(eventually([&] { return ask(post("/a", std::string(1000, 'y'))).status == 200; }));
}

struct Wrong {
  std::string request;
  int status;
};

TEST_F(Http, WhatIsNoRequestIsRefused) {
  start();
  const std::vector<Wrong> cases = {
      {"HELLO\r\n\r\n", 400},
      {"GET /a HTTP/2.0\r\n\r\n", 400},
      {"GET  /a HTTP/1.1 more\r\n\r\n", 400},
      {"\0\1\2\3\r\n\r\n"s, 400},
      {"GET /" + std::string(9000, 'a') + " HTTP/1.1\r\n\r\n", 414},
      {"GET /a HTTP/1.1\r\nA: " + std::string(20'000, 'a') + "\r\n\r\n", 431},
      {"GET /a HTTP/1.1\r\nA: " + std::string(9000, 'a') + "\r\n\r\n", 400},
      {"POST /a HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400},
      {"POST /a HTTP/1.1\r\nContent-Length: 1e3\r\n\r\n", 400},
      {"POST /a HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
      {"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411},
      {"POST /a HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=a\r\nContent-Length: 1\r\n\r\nx", 415},
      {"GET /a HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", 400},
      {"POST /refused HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", 403},
  };
  for (const Wrong& one : cases) {
    RawClient client(server->port());
    client.send(one.request);
    const RawReply reply = client.reply();
    EXPECT_EQ(reply.status, one.status) << one.request.substr(0, 60);
    EXPECT_FALSE(reply.body.empty()) << one.request.substr(0, 60);
    EXPECT_TRUE(client.is_closed()) << one.request.substr(0, 60);
  }
  EXPECT_EQ(ask(get("/a")).status, 200) << "it goes on";
}

TEST_F(Http, ARangeOfAnAnswerIsNotCut) {
  start();
  EXPECT_EQ(ask(get("/a", "Range: bytes=0-1,0-1,0-1,0-1\r\n")).body, "GET /a -: ");
}

TEST_F(Http, AClientThatStopsInItsRequestIsCut) {
  start({.receive_within = 0.2});
  for (const auto& [part, status] : {std::pair("GET /a HT", 0),
                                     {"GET /a HTTP/1.1\r\nHost: a\r\n", 408},
                                     {"POST /a HTTP/1.1\r\nContent-Length: 10\r\n\r\n12345", 408}}) {
    RawClient client(server->port());
    client.send(part);
    EXPECT_EQ(client.reply().status, status) << part;
    EXPECT_TRUE(client.is_closed()) << part;
  }
}

TEST_F(Http, AClientThatSendsAByteNowAndThenIsCut) {
  start({.receive_within = 0.3});
  const net::Socket client = net::connect_locally(server->port());
  net::write_all(client, "GET /a HTTP/1.1\r\nA: ");
  // a byte every few milliseconds never lets a read wait for long
  EXPECT_TRUE(eventually([&] {
    net::write_all(client, "a");
    pollfd closed{client.fd(), POLLIN, 0};
    return ::poll(&closed, 1, 0) == 1;
  }));
}

TEST_F(Http, AConnectionWithoutARequestIsClosed) {
  start({.idle_for = 0.1});
  RawClient silent(server->port()), asked(server->port());
  asked.send(get("/a"));
  EXPECT_EQ(asked.reply().status, 200);
  EXPECT_TRUE(silent.is_closed());
  EXPECT_TRUE(asked.is_closed());
}

TEST_F(Http, AClientThatDoesNotReadIsCut) {
  start({.send_within = 0.3});
  const std::string body(8'000'000, 'x');
  RawClient client(server->port());
  std::jthread sender([&] { client.send(post("/a", body) + get("/b")); });
  EXPECT_TRUE(eventually([&] {
    RawClient other(server->port());
    other.send(get("/c"));
    return other.reply().status == 200;
  }));
  server->stop(20);  // returns when the thread of that client has ended
}

TEST_F(Http, AnIdleConnectionMakesPlaceForANewOne) {
  start({.max_connections = 1});
  RawClient first(server->port());
  first.send(get("/a"));
  EXPECT_EQ(first.reply().status, 200);
  // a connection counts as idle only some time after its answer has come
  EXPECT_TRUE(eventually([&] { return ask(get("/b")).status == 200; }));
  EXPECT_TRUE(first.is_closed());
}

TEST_F(Http, TooManyConnectionsThatAreAtWorkAreRefused) {
  std::promise<void> go_on;
  handler.hold = go_on.get_future().share();
  start({.max_connections = 2});
  RawClient first(server->port()), second(server->port());
  for (RawClient* const client : {&first, &second}) client->send(get("/held"));
  ASSERT_TRUE(eventually([&] { return handler.held == 2; }));
  RawClient third(server->port());
  const RawReply refused = third.reply();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.headers.at("retry-after"), "1");
  go_on.set_value();
  EXPECT_EQ(first.reply().status, 200);
  EXPECT_EQ(second.reply().status, 200);
}

TEST_F(Http, PlainTextIsForThisMachineAlone) {
  const auto open = HttpServer::start({"0.0.0.0", 0}, handler, nullptr, false, {});
  ASSERT_FALSE(open.ok());
  EXPECT_EQ(open.code(), Code::failed_precondition);
  EXPECT_TRUE(HttpServer::start({"0.0.0.0", 0}, handler, nullptr, true, {}).ok());
  start();
  const auto taken = HttpServer::start({"127.0.0.1", server->port()}, handler, nullptr, false, {});
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.code(), Code::already_exists);
}

TEST_F(Http, OverTlsAClientProvesWhoItIsOrIsNobody) {
  const auto own = cluster::test_credentials(Role::node, "edge");
  start({}, own);
  const auto ann = cluster::test_credentials(Role::client, "ann");
  RawClient member(server->port(), own->identity(), &ann->identity());
  ASSERT_TRUE(member.is_open());
  member.send(get("/a"));
  EXPECT_EQ(member.reply().body, "GET /a mangrove://client/ann: ");
  RawClient stranger(server->port(), own->identity(), nullptr);
  ASSERT_TRUE(stranger.is_open());
  stranger.send(post("/a", std::string(100'000, 'x')));
  EXPECT_EQ(stranger.reply().body, "POST /a -: " + std::string(100'000, 'x'));
}

TEST_F(Http, OverTlsAFalseCertificateIsRefused) {
  const auto own = cluster::test_credentials(Role::node, "edge");
  start({.handshake_within = 1}, own);
  const Identity mallory = Identity::make(Authority::make(wall_now()), {Role::admin, "mallory"}, wall_now());
  RawClient client(server->port(), own->identity(), &mallory);
  client.send(get("/a"));
  EXPECT_EQ(client.reply().status, 0);
  RawClient plain(server->port());
  plain.send(get("/a"));
  EXPECT_EQ(plain.reply().status, 0);
  RawClient silent(server->port());  // never begins its handshake
  EXPECT_TRUE(silent.is_closed());
}

}  // namespace
}  // namespace mangrove::serve
