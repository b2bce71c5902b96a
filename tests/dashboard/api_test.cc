// The dashboard's interface, over a coordinator and nodes in this process whose jobs are scripts.
#include "mangrove/dashboard/api.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/base/temporary_folder.h"
#include "tests/cluster/test_cluster.h"
#include "tests/paths.h"

#include "mangrove/dashboard/page.h"

namespace mangrove::dashboard {
namespace {

using cluster::scripted_job;
using cluster::TestCluster;
using identity::Role;
using nlohmann::json;
using serve::HttpRequest;
using serve::HttpResponse;
using testing::TemporaryFolder;

constexpr const char* kViewer = "Bearer 0123456789abcdef";
constexpr const char* kClient = "Bearer 123456789abcdef0";
constexpr const char* kAdmin = "Bearer 23456789abcdef01";

/// Forms whose only key says which script is played.
JobForms script_forms() {
  return {.keys = [](const std::string& command) -> Result<json> {
            if (command != "train") return make_error(Code::not_found, "no such command");
            return json{{"command", command}, {"keys", json::array({{{"name", "script"}}})}};
          },
          .make = [](const std::string&, const json& values, const std::stop_token&) -> Result<cluster::JobSpec> {
            if (!values.contains("script")) return make_error(Code::invalid_argument, "script: missing");
            return scripted_job(values["script"].get<std::string>());
          }};
}

struct DashboardApi : ::testing::Test {
  HttpRequest request(const std::string& method, const std::string& target, const std::string& token,
                      const std::string& body = "") const {
    HttpRequest made;
    made.head.method = method;
    made.head.target = target;
    made.head.authorization = token;
    made.body = body;
    return made;
  }
  /// As the server does: the head may be refused before the body.
  HttpResponse ask(const HttpRequest& asked) {
    if (auto refused = api.refuse(asked.head)) return *refused;
    return api.answer(asked, {});
  }
  HttpResponse get(const std::string& target, const std::string& token = kAdmin) {
    return ask(request("GET", target, token));
  }
  HttpResponse post(const std::string& target, const std::string& body, const std::string& token = kAdmin) {
    return ask(request("POST", target, token, body));
  }
  std::string start(const std::string& script, const std::string& token = kAdmin) {
    const HttpResponse started = post("/api/v1/jobs", R"({"keys":{"script":")" + script + "\"}}", token);
    EXPECT_EQ(started.status, 201) << started.body;
    return json::parse(started.body).value("id", "");
  }
  /// Reads a stream until this text has come; all that came.
  static std::string read_until(const HttpResponse& response, const std::string& text) {
    std::string all;
    const SteadyClock clock;
    const Deadline deadline = clock.after(60);
    while (clock.now() < deadline && all.find(text) == std::string::npos) {
      const std::string piece = response.stream({});
      if (piece.empty()) break;
      all += piece;
    }
    return all;
  }

  TemporaryFolder folder;
  TestCluster cluster{2, TestCluster::kMisses, cluster::scripted_role, folder / "state"};
  const std::unique_ptr<cluster::Client> questions = cluster.client(Role::admin);
  const Connect connect = [this](const std::stop_token&) -> Result<std::unique_ptr<cluster::Client>> {
    return cluster.client(Role::admin);
  };
  const Access access{
      Role::admin,
      serve::Tokens::parse("viewer 0123456789abcdef\nclient 123456789abcdef0\nadmin 23456789abcdef01", kTokenHolders)
          .value()};
  Api api{*questions, connect, access, script_forms(), "1.2.3"};
};

TEST_F(DashboardApi, SaysWhoIsSpeakingWithWhom) {
  const json session = json::parse(get("/api/v1/session", kClient).body);
  EXPECT_EQ(session, (json{{"version", "1.2.3"}, {"coordinator", cluster.coordinator->address()}, {"role", "client"}}));
}

TEST_F(DashboardApi, WithoutATokenThereIsOnlyThePage) {
  for (const Route& route : routes()) {
    const HttpResponse refused = ask(request(route.method, route.path, ""));
    EXPECT_EQ(refused.status, 401) << route.path;
    EXPECT_EQ(json::parse(refused.body)["error"]["code"], "permission_denied") << route.path;
  }
  const HttpResponse page = get("/", "");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  for (const char* path : {"/../etc/passwd", "/nothing", "//", "/%2e%2e/index.html", ""})
    EXPECT_EQ(get(path, kAdmin).status, 404) << path;
  EXPECT_EQ(post("/", "", kAdmin).status, 405);
}

TEST(DashboardRoutes, EachStandsOnThePage) {
  std::ifstream file(testing::repository_path("docs/dashboard.md"));
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const Route& route : routes()) {
    std::string path = route.path;
    for (const auto& [name, shown] :
         {std::pair("{job}", "JOB"), std::pair("{member}", "NAME"), std::pair("{command}", "train")})
      if (const std::size_t at = path.find(name); at != std::string::npos) path.replace(at, std::strlen(name), shown);
    EXPECT_NE(page.find(path), std::string::npos) << route.method << " " << path;
  }
}

TEST_F(DashboardApi, EachRouteNeedsItsRole) {
  for (const Route& route : routes()) {
    HttpRequest asked = request(route.method, route.path, kViewer);
    EXPECT_EQ(api.refuse(asked.head).has_value(), route.right != Right::look) << route.path;
    asked.head.authorization = kClient;
    EXPECT_EQ(api.refuse(asked.head).has_value(), route.right == Right::manage) << route.path;
    asked.head.authorization = kAdmin;
    EXPECT_FALSE(api.refuse(asked.head).has_value()) << route.path;
  }
  EXPECT_EQ(get("/api/v1/members", kViewer).status, 403);
  EXPECT_EQ(ask(request("PUT", "/api/v1/jobs", kAdmin)).status, 405);
  EXPECT_EQ(get("/api/v1/nothing").status, 404);
}

TEST_F(DashboardApi, ShowsTheClusterNowAndAsItChanges) {
  ASSERT_TRUE(eventually([&] { return cluster.listing() == "node-1 alive, node-2 alive"; }));
  const json now = json::parse(get("/api/v1/cluster").body);
  ASSERT_EQ(now["nodes"].size(), 2u);
  EXPECT_EQ(now["nodes"][0]["name"], "node-1");
  const HttpResponse stream = get("/api/v1/cluster/stream");
  ASSERT_TRUE(stream.stream);
  EXPECT_EQ(stream.content_type, "text/event-stream");
  EXPECT_NE(read_until(stream, "\"node-2\"").find("event: cluster\ndata: {"), std::string::npos);
  cluster.add_node("node-3");
  EXPECT_NE(read_until(stream, "\"node-3\"").find("\"node-3\""), std::string::npos);
  cluster.coordinator->shutdown();
  for (int seconds = 0; seconds < 4; ++seconds)  // longer than a moment
    EXPECT_NE(read_until(stream, "event: problem").find("event: problem\ndata: {\"message\":"), std::string::npos);
  cluster.coordinator.reset();
  cluster.start_coordinator();
  EXPECT_NE(read_until(stream, "event: cluster").find("event: cluster"), std::string::npos) << "it is back";
}

TEST_F(DashboardApi, StartsAndStopsJobs) {
  const std::string id = start("endless");
  const HttpResponse stream = get("/api/v1/jobs/" + id + "/stream");
  read_until(stream, "event: progress");
  EXPECT_EQ(json::parse(get("/api/v1/jobs/" + id).body)["state"], "running");
  EXPECT_EQ(get("/api/v1/jobs/" + id + "/model").status, 409) << "it has not ended";
  const HttpResponse stopped = post("/api/v1/jobs/" + id + "/stop", "{}");
  EXPECT_EQ(stopped.status, 200) << stopped.body;
  const std::string rest = read_until(stream, "event: end");
  EXPECT_NE(rest.find("\"state\":\"stopped\""), std::string::npos) << rest;
  EXPECT_EQ(stream.stream({}), "") << "the stream ends with the job";
  const json jobs = json::parse(get("/api/v1/jobs").body)["jobs"];
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0]["id"], id);
  EXPECT_EQ(jobs[0]["state"], "stopped");
  const HttpResponse model = get("/api/v1/jobs/" + id + "/model");
  EXPECT_EQ(model.status, 404) << model.body;
}

TEST_F(DashboardApi, TokensOfOthersDoNotReadOrStopAJob) {
  const std::string mine = start("endless", kClient), other = start("endless");
  for (const char* what : {"/stream", "/events", "/model"}) {
    EXPECT_EQ(get("/api/v1/jobs/" + other + what, kClient).status, 403) << what;
    EXPECT_EQ(get("/api/v1/jobs/" + mine + what, kViewer).status, 403) << what;
    EXPECT_NE(get("/api/v1/jobs/" + mine + what, kClient).status, 403) << what;
    EXPECT_NE(get("/api/v1/jobs/" + mine + what, kAdmin).status, 403) << what;
  }
  EXPECT_EQ(post("/api/v1/jobs/" + other + "/stop", "{}", kClient).status, 403);
  EXPECT_EQ(json::parse(get("/api/v1/jobs/" + other, kViewer).body)["id"], other) << "that, everybody may know";
  EXPECT_EQ(post("/api/v1/jobs/" + mine + "/stop", "{}", kClient).status, 200);
  EXPECT_EQ(post("/api/v1/jobs/" + other + "/stop", "{}", kAdmin).status, 200);
}

TEST_F(DashboardApi, ADashboardThatMayNotReadAJobSaysSo) {
  const std::string id = start("endless");
  const Connect as_stranger = [this](const std::stop_token&) -> Result<std::unique_ptr<cluster::Client>> {
    return cluster.client(Role::viewer);
  };
  JobFeeds feeds(as_stranger);
  const auto feed = feeds.find(id);
  ASSERT_TRUE(feed.ok());
  std::vector<JobFeed::Entry> told;
  ASSERT_TRUE(eventually([&] { return !(told = (*feed)->wait_for_more(0, 0.1, {})).empty(); }));
  EXPECT_EQ(told.back().name, kEnd);
  EXPECT_EQ(json::parse(told.back().json)["state"], "refused") << told.back().json;
  EXPECT_NE(feeds.find(id)->get(), feed->get()) << "perhaps it may, next time";
  EXPECT_EQ(post("/api/v1/jobs/" + id + "/stop", "{}").status, 200);
}

TEST_F(DashboardApi, AJobThatFailsBecauseItsWorkersAreGoneIsNotLost) {
  const std::string id = start("bad_data");
  const std::string told = read_until(get("/api/v1/jobs/" + id + "/stream"), "event: end");
  EXPECT_NE(told.find("\"state\":\"failed\""), std::string::npos) << told;
}

TEST_F(DashboardApi, FewNetworksAreHeldAtOnce) {
  const std::string id = start("echo");
  read_until(get("/api/v1/jobs/" + id + "/stream"), "event: end");
  const std::string path = "/api/v1/jobs/" + id + "/model";
  {
    const HttpResponse one = get(path), two = get(path);
    EXPECT_EQ(two.status, 200);
    EXPECT_EQ(get(path).status, 429) << "until one of them is sent";
  }
  EXPECT_EQ(get(path).status, 200);
}

TEST_F(DashboardApi, WhoComesLateReadsAJobFromItsBeginning) {
  const std::string id = start("epochs");
  const std::string path = "/api/v1/jobs/" + id + "/stream";
  read_until(get(path), "event: event");
  const std::string told = read_until(get(path), "event: event");
  EXPECT_NE(told.find("event: epoch\ndata: {\"epoch\":1,\"loss\":0.5}"), std::string::npos) << told;
  EXPECT_NE(told.find("event: epoch\ndata: {\"epoch\":2,\"loss\":0.25}"), std::string::npos) << told;
  cluster.add_node("newcomer");
  const std::string whole = read_until(get(path), "event: end");
  EXPECT_NE(whole.find("\"curve\":[{\"epoch\":1,\"loss\":0.5}"), std::string::npos) << whole;
}

TEST_F(DashboardApi, KeepsTheResultAndTheModelOfAJobThatHasEnded) {
  const std::string id = start("echo");
  const std::string told = read_until(get("/api/v1/jobs/" + id + "/stream"), "event: end");
  EXPECT_NE(told.find("event: result\ndata: {\"answers\":2"), std::string::npos) << told;
  EXPECT_NE(told.find("\"state\":\"done\""), std::string::npos) << told;
  const std::string again = read_until(get("/api/v1/jobs/" + id + "/stream"), "event: end");
  EXPECT_NE(again.find("event: result\ndata: {\"answers\":2"), std::string::npos) << "for who comes later: " << again;
  const HttpResponse model = get("/api/v1/jobs/" + id + "/model");
  EXPECT_EQ(model.status, 200);
  EXPECT_EQ(read_until(model, "a whole network"), "model");
  EXPECT_EQ(json::parse(get("/api/v1/jobs/" + id + "/events").body)["job"], id);
}

TEST_F(DashboardApi, SaysWhatIsWrongWithARequest) {
  struct Case {
    const char *path, *body, *message;
    int status;
  };
  for (const Case& one : {
           Case{"/api/v1/jobs", "[", "no JSON", 400},
           Case{"/api/v1/jobs", "[]", "no JSON object", 400},
           Case{"/api/v1/jobs", R"({"keys":7})", "keys: expected an object", 400},
           Case{"/api/v1/jobs", R"({"command":7})", "command: expected a text", 400},
           Case{"/api/v1/jobs", "{}", "script: missing", 400},
           Case{"/api/v1/jobs/job-0/stop", "{}", "job-0", 404},
           Case{"/api/v1/invitations", R"({"role":"boss"})", "boss", 400},
           Case{"/api/v1/invitations", R"({"uses":1.5})", "uses: expected a whole number", 400},
           Case{"/api/v1/invitations", R"({"uses":4294967297})", "uses: expected a whole number", 400},
           Case{"/api/v1/invitations", R"({"ttl_s":1e300})", "ttl_s: expected a whole number", 400},
           Case{"/api/v1/members/nobody/revoke", "{}", "", 409},
       }) {
    const HttpResponse refused = post(one.path, one.body);
    EXPECT_EQ(refused.status, one.status) << one.path << one.body << refused.body;
    EXPECT_NE(refused.body.find(one.message), std::string::npos) << refused.body;
  }
  EXPECT_EQ(get("/api/v1/jobs/job-0/stream").status, 404);
  EXPECT_EQ(get("/api/v1/jobs/job-0/model").status, 404);
  EXPECT_EQ(get("/api/v1/keys/bake").status, 404);
}

TEST_F(DashboardApi, AnswersTellBrowsersToKeepNothing) {
  const HttpResponse jobs = get("/api/v1/jobs");
  EXPECT_NE(std::ranges::find(jobs.headers, std::pair<std::string, std::string>("Cache-Control", "no-store")),
            jobs.headers.end());
  const HttpResponse page = get("/", "");
  const bool has_policy = std::ranges::any_of(page.headers, [](const auto& header) {
    return header.first == "Content-Security-Policy" && header.second.starts_with("default-src 'none'");
  });
  EXPECT_TRUE(has_policy);
}

}  // namespace
}  // namespace mangrove::dashboard
