#include "mangrove/dashboard/api.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "mangrove/base/json_dump.h"
#include "mangrove/base/stop.h"
#include "mangrove/cluster/cluster_status.h"
#include "mangrove/dashboard/cluster_metrics.h"
#include "mangrove/dashboard/page.h"
#include "mangrove/serve/http/server_events.h"
#include "mangrove/serve/protocol/http_status.h"
#include "mangrove/serve/protocol/json_tree.h"

namespace mangrove::dashboard {
namespace {

using nlohmann::json;
using serve::HttpResponse;
using serve::kEventStream;
using serve::kNoEvent;
using serve::server_event;

constexpr Seconds kSignOfLifeEvery = 5;     // in a stream in which nothing happens
constexpr int kMostLarge = 2;               // calls at once that hold a network
constexpr std::size_t kPiece = 262'144;     // of a network on its way to a client
constexpr std::size_t kMostBegun = 10'000;  // jobs of which the caller is known; then one is forgotten
constexpr Seconds kStopsWithin = 60;        // a job that is to end in good order
constexpr const char* kApi = "/api/";
constexpr const char* kMetrics = "/metrics";

HttpResponse json_answer(const json& body, int status = 200) {
  HttpResponse response;
  response.status = status;
  response.body = dump(body);
  response.headers = {{"Cache-Control", "no-store"}};
  return response;
}

HttpResponse error_answer(int status, const char* code, const std::string& message) {
  HttpResponse response = json_answer({{"error", {{"code", code}, {"message", message}}}}, status);
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

int status_of(Code code) {
  if (code == Code::unimplemented) return 405;
  return code == Code::failed_precondition ? 409 : serve::http_status(code);
}

HttpResponse error_answer(const Error& error) {
  return error_answer(status_of(error.code), code_name(error.code), error.message);
}

HttpResponse stream_answer(std::function<std::string(const std::stop_token&)> next) {
  HttpResponse response;
  response.content_type = kEventStream;
  response.headers = {{"Cache-Control", "no-store"}};
  response.stream = std::move(next);
  response.is_endless = true;
  return response;
}

std::string_view path_of(std::string_view target) {
  return target.substr(0, target.find('?'));
}

bool is_of_interface(std::string_view target) {
  return target.starts_with(kApi) || path_of(target) == kMetrics;
}

HttpResponse page_answer(const serve::HttpHead& head) {
  std::optional<HttpResponse> file = page_file(path_of(head.target));
  if (!file) return error_answer(404, code_name(Code::not_found), "the page has no such file");
  return head.method == "GET" ? *std::move(file) : error_answer(405, code_name(Code::unimplemented), "use GET");
}

/// errors: invalid_argument (no JSON object).
Result<json> object_in(const std::string& body) {
  MG_TRY(serve::JsonTree tree, serve::parse_json_tree(body));
  if (!tree.root.is_object()) return make_error(Code::invalid_argument, "the body is no JSON object");
  return std::move(tree.root);
}

/// A text in an object; `otherwise` where it is not there. errors: invalid_argument (something else).
Result<std::string> text_of(const json& object, const char* key, const std::string& otherwise) {
  const auto found = object.find(key);
  if (found == object.end()) return otherwise;
  if (!found->is_string()) return make_error(Code::invalid_argument, std::string(key) + ": expected a text");
  return found->get<std::string>();
}

/// The same of a whole number. The coordinator says which ones it takes.
Result<std::int32_t> number_of(const json& object, const char* key, std::int32_t otherwise) {
  const auto found = object.find(key);
  if (found == object.end()) return otherwise;
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  const bool is_number = found->is_number_integer() && *found >= -kMost && *found <= kMost;
  if (!is_number) return make_error(Code::invalid_argument, std::string(key) + ": expected a whole number");
  return found->get<std::int32_t>();
}

}  // namespace

struct Api::Call {
  RouteMatch match;
  Caller caller;
  std::string body;
  std::stop_token stop;

  const std::string& value(const char* name) const { return match.values.at(name); }
};

std::optional<HttpResponse> Api::refuse(const serve::HttpHead& head) const {
  if (!is_of_interface(head.target)) {
    HttpResponse answer = page_answer(head);
    return answer.status == 200 ? std::nullopt : std::optional(std::move(answer));
  }
  const Result<RouteMatch> match = find_route(head.method, head.target);
  if (!match.ok()) return error_answer(match.error());
  const Result<Caller> caller = access_.caller_of(head.authorization);
  if (!caller.ok()) return error_answer(401, code_name(caller.code()), caller.error().message);
  const Status may = Access::check(caller->role, match->route->right);
  if (!may.ok()) return error_answer(may.error());
  return std::nullopt;
}

HttpResponse Api::error(const serve::HttpHead& /*head*/, int status, const std::string& message) const {
  return error_answer(status, code_name(status < 500 ? Code::invalid_argument : Code::internal), message);
}

HttpResponse Api::answer(serve::HttpRequest request, const std::stop_token& stop) {
  const serve::HttpHead& head = request.head;
  if (!is_of_interface(head.target)) return page_answer(head);
  Result<RouteMatch> match = find_route(head.method, head.target);
  if (!match.ok()) return error_answer(match.error());
  Result<Caller> caller = access_.caller_of(head.authorization);
  if (!caller.ok()) return error_answer(caller.error());
  Result<HttpResponse> response = perform(
      {.match = *std::move(match), .caller = *std::move(caller), .body = std::move(request.body), .stop = stop});
  return response.ok() ? *std::move(response) : error_answer(response.error());
}

Result<HttpResponse> Api::perform(const Call& call) {
  switch (call.match.route->operation) {
    case Operation::describe_session:
      return describe_session(call);
    case Operation::show_cluster: {
      MG_TRY(const cluster::ListNodesResponse status, client_.status(call.stop));
      return json_answer(cluster::cluster_json(client_.coordinator(), status));
    }
    case Operation::stream_cluster:
      return stream_cluster();
    case Operation::list_jobs:
      return list_jobs(call);
    case Operation::show_job:
      return show_job(call);
    case Operation::list_events:
      return list_events(call);
    case Operation::stream_job:
      return stream_job(call);
    case Operation::fetch_model:
      return fetch_model(call);
    case Operation::start_job:
      return start_job(call);
    case Operation::stop_job:
      return stop_job(call);
    case Operation::describe_keys: {
      MG_TRY(const json keys, forms_.keys(call.value("command")));
      return json_answer(keys);
    }
    case Operation::list_members:
      return list_members();
    case Operation::invite:
      return invite(call);
    case Operation::revoke:
      MG_RETURN_IF_ERROR(client_.revoke(call.value("member")));
      return json_answer(json::object());
    case Operation::export_metrics: {
      MG_TRY(const cluster::ListNodesResponse status, client_.status(call.stop));
      HttpResponse response;
      response.content_type = kMetricsType;
      response.body = cluster_metrics(status);
      return response;
    }
  }
  return make_error(Code::internal, "a route without an operation");
}

Result<HttpResponse> Api::describe_session(const Call& call) const {
  return json_answer(
      {{"version", version_}, {"coordinator", client_.coordinator()}, {"role", identity::role_name(call.caller.role)}});
}

HttpResponse Api::stream_cluster() {
  return stream_answer([this, seen = std::int64_t{0}](const std::stop_token& stop) mutable -> std::string {
    const auto state = cluster_.wait_for_newer(seen, kSignOfLifeEvery, stop);
    if (stop.stop_requested()) return "";
    if (!state) return kNoEvent;
    seen = state->number;
    if (state->problem.empty()) return server_event("cluster", state->json);
    return server_event("problem", dump(json{{"message", state->problem}}));
  });
}

/// Whether the caller may read and stop the job.
bool Api::may_handle(const Caller& caller, const std::string& job) const {
  if (caller.is_owner) return true;
  const MutexLock lock(mutex_);
  const auto begun = begun_.find(job);
  return begun != begun_.end() && begun->second == caller.name;
}

/// errors: permission_denied.
Status Api::check_job(const Call& call) const {
  if (may_handle(call.caller, call.value("job"))) return {};
  return make_error(Code::permission_denied,
                    "job '" + call.value("job") + "' was not started with this token, so it may not read or stop it");
}

/// What the caller may know of a job.
json Api::job_facts(const Caller& caller, cluster::JobStatus job) const {
  if (!may_handle(caller, job.id())) job.clear_message();  // it may name files and what they hold
  return cluster::job_json(job);
}

Result<HttpResponse> Api::list_jobs(const Call& call) const {
  MG_TRY(std::vector<cluster::JobStatus> jobs, client_.jobs());
  json rows = json::array();
  for (cluster::JobStatus& job : jobs) rows.push_back(job_facts(call.caller, std::move(job)));
  return json_answer({{"jobs", std::move(rows)}});
}

/// errors: not_found; those of Client::jobs().
Result<cluster::JobStatus> Api::find_job(const std::string& id) const {
  MG_TRY(const std::vector<cluster::JobStatus> jobs, client_.jobs());
  const auto job = std::ranges::find(jobs, id, [](const cluster::JobStatus& one) { return one.id(); });
  if (job == jobs.end()) return make_error(Code::not_found, "the coordinator knows no job '" + id + "'");
  return *job;
}

Result<HttpResponse> Api::show_job(const Call& call) const {
  MG_TRY(const cluster::JobStatus job, find_job(call.value("job")));
  MG_TRY(const cluster::ListNodesResponse status, client_.status(call.stop));
  json facts = job_facts(call.caller, job);
  const json live = cluster::live_job_json(job.id(), status);
  if (live.is_object()) facts.update(live);
  return json_answer(facts);
}

Result<HttpResponse> Api::list_events(const Call& call) const {
  MG_RETURN_IF_ERROR(check_job(call));
  MG_TRY(const std::vector<std::string> events, client_.events(call.value("job")));
  json list = json::array();
  for (const std::string& one : events) {
    json event = json::parse(one, nullptr, /*allow_exceptions=*/false);
    if (event.is_object()) list.push_back(std::move(event));
  }
  return json_answer({{"job", call.value("job")}, {"events", std::move(list)}});
}

Result<HttpResponse> Api::stream_job(const Call& call) {
  MG_RETURN_IF_ERROR(find_job(call.value("job")));
  MG_RETURN_IF_ERROR(check_job(call));
  MG_TRY(const std::shared_ptr<JobFeed> feed, jobs_.find(call.value("job")));
  return stream_answer(
      [feed, seen = std::uint64_t{0}, is_over = false](const std::stop_token& stop) mutable -> std::string {
        if (is_over) return "";
        const auto entries = feed->wait_for_more(seen, kSignOfLifeEvery, stop);
        if (stop.stop_requested()) return "";
        std::string text;
        for (const JobFeed::Entry& entry : entries) text += server_event(entry.name, entry.json);
        if (!entries.empty()) seen = entries.back().number;
        is_over = !entries.empty() && entries.back().name == kEnd;
        return text.empty() ? kNoEvent : text;
      });
}

/// errors: resource_exhausted (others are at work).
Result<std::shared_ptr<void>> Api::take_room() const {
  auto room = std::shared_ptr<void>(nullptr, [this](void*) { --large_; });
  if (++large_ <= kMostLarge) return room;
  return make_error(Code::resource_exhausted, "others fetch networks or start jobs just now; try again");
}

Result<HttpResponse> Api::fetch_model(const Call& call) const {
  MG_TRY(const cluster::JobStatus job, find_job(call.value("job")));
  MG_RETURN_IF_ERROR(check_job(call));
  if (job.ended().empty())
    return make_error(Code::failed_precondition, "job " + job.id() + " has not ended, so it has no model yet");
  MG_TRY(const auto room, take_room());
  MG_TRY(const auto client, connect_(call.stop));
  std::string model;
  const auto take = [&](Report report) {
    if (report.kind == ReportKind::result) model = std::move(report.attachment);
  };
  const Status ended = client->follow(job.id(), take, call.stop);
  if (model.empty())
    return make_error(Code::not_found, "the coordinator has no model of job " + job.id() +
                                           (ended.ok() ? "" : ": " + ended.error().message));
  const auto network = std::make_shared<const std::string>(std::move(model));
  HttpResponse response =
      stream_answer([network, room, sent = std::size_t{0}](const std::stop_token& stop) mutable -> std::string {
        if (stop.stop_requested()) return "";
        const std::size_t begin = std::exchange(sent, std::min(network->size(), sent + kPiece));
        return network->substr(begin, sent - begin);
      });
  response.content_type = "application/octet-stream";
  response.headers.emplace_back("Content-Disposition", "attachment; filename=\"" + job.id() + ".onnx\"");
  return response;
}

Result<HttpResponse> Api::start_job(const Call& call) {
  MG_TRY(const json wish, object_in(call.body));
  MG_TRY(const std::string command, text_of(wish, "command", "train"));
  const auto keys = wish.find("keys");
  if (keys != wish.end() && !keys->is_object())
    return make_error(Code::invalid_argument, "keys: expected an object with a value for each key");
  MG_TRY(const auto room, take_room());
  MG_TRY(const cluster::JobSpec job, forms_.make(command, keys == wish.end() ? json::object() : *keys, call.stop));
  MG_TRY(const auto client, connect_(call.stop));
  MG_TRY(const std::string id, client->submit(job, call.stop));
  const MutexLock lock(mutex_);
  if (begun_.size() >= kMostBegun) begun_.erase(begun_.begin());
  begun_[id] = call.caller.name;
  return json_answer({{"id", id}}, 201);
}

Result<HttpResponse> Api::stop_job(const Call& call) const {
  MG_RETURN_IF_ERROR(check_job(call));
  MG_TRY(const auto client, connect_(call.stop));
  std::stop_source leave;
  const std::stop_callback stopped(call.stop, [&] { leave.request_stop(); });
  const std::jthread patience([&](const std::stop_token& ended) {
    if (!wait_for_stop(ended, kStopsWithin)) leave.request_stop();
  });
  const Result<std::string> how = client->stop_job(call.value("job"), leave.get_token());
  const bool goes_on = !how.ok() && how.code() == Code::cancelled && leave.stop_requested();
  if (!how.ok() && !goes_on) return how.error();
  const std::string message = goes_on ? how.error().message : *how;
  return json_answer({{"job", call.value("job")}, {"message", message}}, goes_on ? 202 : 200);
}

Result<HttpResponse> Api::list_members() const {
  MG_TRY(const std::vector<cluster::MemberStatus> members, client_.members());
  json rows = json::array();
  for (const cluster::MemberStatus& member : members) rows.push_back(cluster::member_json(member));
  return json_answer({{"members", std::move(rows)}});
}

Result<HttpResponse> Api::invite(const Call& call) const {
  MG_TRY(const json wish, object_in(call.body));
  MG_TRY(const std::string role_text, text_of(wish, "role", "node"));
  MG_TRY(const identity::Role role, identity::parse_role(role_text).context("role"));
  cluster::InviteRequest request;
  request.set_role(identity::role_name(role));
  MG_TRY(*request.mutable_name(), text_of(wish, "name", ""));
  MG_TRY(const std::int32_t ttl, number_of(wish, "ttl_s", 3600));
  MG_TRY(const std::int32_t uses, number_of(wish, "uses", 1));
  request.set_ttl_s(ttl);
  request.set_uses(uses);
  MG_TRY(const cluster::InviteResponse made, client_.invite(request));
  return json_answer({{"join_string", made.join_string()}, {"expires", made.expires()}}, 201);
}

}  // namespace mangrove::dashboard
