#include "mangrove/serve/protocol/rest_api.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "mangrove/base/json_dump.h"
#include "mangrove/base/parse_number.h"
#include "mangrove/job/json_fields.h"
#include "mangrove/serve/http/server_events.h"
#include "mangrove/serve/http/target.h"
#include "mangrove/serve/protocol/ask.h"
#include "mangrove/serve/protocol/exit_events.h"
#include "mangrove/serve/protocol/http_status.h"
#include "mangrove/serve/protocol/json_request.h"
#include "mangrove/serve/protocol/json_response.h"
#include "mangrove/serve/protocol/json_tree.h"
#include "mangrove/serve/protocol/metrics_text.h"
#include "mangrove/serve/protocol/model_json.h"
#include "mangrove/serve/protocol/openapi.h"
#include "mangrove/serve/update/model_update.h"

namespace mangrove::serve {
namespace {

constexpr const char* kJsonLength = "Inference-Header-Content-Length";
constexpr double kSmallestShare = 0.001;
constexpr std::int64_t kTopClasses = 5, kMostTopClasses = 10'000;

HttpResponse json_response(const nlohmann::ordered_json& body, int status = 200) {
  HttpResponse response;
  response.status = status;
  response.body = dump(body);
  return response;
}

Shown shown_by(const HttpHead& head) {
  return {.member = head.member, .authorization = head.authorization};
}

/// How long the JSON of the body is. Nothing: all of it is JSON.
Result<std::optional<std::size_t>> json_length(const HttpHead& head) {
  if (!head.inference_header_length) return std::optional<std::size_t>();
  const std::string& text = *head.inference_header_length;
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    return make_error(Code::invalid_argument, std::string("the header ") + kJsonLength + " is no number of bytes");
  return std::optional<std::size_t>(length);
}

/// What stands behind "?" of an update. errors: invalid_argument (names the parameter).
Result<UpdateOptions> update_options(const std::string& target) {
  MG_TRY(const std::optional<std::string> share, query_value(target, "share"));
  MG_TRY(const std::optional<std::string> requests, query_value(target, "requests"));
  if (!share) {
    if (requests) return make_error(Code::invalid_argument, "requests: they are counted in a trial only: give a share");
    return UpdateOptions{};
  }
  TrialRule rule;
  MG_TRY(rule.share, parse_number(*share, kSmallestShare, kLargestShare).context("share"));
  if (requests) {
    MG_TRY(rule.requests, parse_whole_number(*requests, 1, kMostTrialRequests).context("requests"));
  }
  return UpdateOptions{.trial = rule};
}

/// An object, or nothing: many calls need no body. errors: invalid_argument.
Result<nlohmann::json> optional_object(const std::string& body) {
  if (body.empty()) return nlohmann::json::object();
  MG_TRY(JsonTree tree, parse_json_tree(body));
  if (!tree.root.is_object()) return make_error(Code::invalid_argument, "the body is no JSON object");
  return std::move(tree.root);
}

}  // namespace

struct RestApi::Call {
  RouteMatch match;
  HttpRequest request;
  std::stop_token stop;
  AccessEntry& entry;  // gets what is known when the call is answered

  const std::string& model() const { return match.model; }
  const std::string& version() const { return match.version; }
};

std::optional<HttpResponse> RestApi::refuse(const HttpHead& head) const {
  const Result<RouteMatch> match = find_route(head.method, head.target);
  if (!match.ok())
    return error_response(match.code() == Code::unimplemented ? 405 : http_status(match.code()), match.error().message);
  const Status admitted = rules_.admit(match->route->right, shown_by(head));
  if (admitted.ok()) return std::nullopt;
  const bool has_shown = head.member.has_value() || !head.authorization.empty() || !rules_.asks();
  return logged(access_entry(head, *match), *match,
                error_response(has_shown ? http_status(admitted.code()) : 401, admitted.error().message));
}

HttpResponse RestApi::error(const HttpHead& head, int status, const std::string& message) const {
  const Result<RouteMatch> match = find_route(head.method, head.target);
  if (!match.ok()) return error_response(status, message);
  return logged(access_entry(head, *match), *match, error_response(status, message));
}

AccessEntry RestApi::access_entry(const HttpHead& head, const RouteMatch& match) const {
  return {.model = match.model,
          .version = match.version,
          .client = rules_.who(shown_by(head)),
          .from = head.from,
          .trace = trace_of(head.traceparent)};
}

/// Writes a request to a model into the access log, and gives the answer back.
HttpResponse RestApi::logged(const AccessEntry& entry, const RouteMatch& match, HttpResponse response) const {
  const bool is_told_later = response.stream != nullptr;  // by ExitEvents
  if (facts_.access_log == nullptr || match.route->right != Right::infer || is_told_later) return response;
  AccessEntry written = entry;
  written.status = response.status;
  facts_.access_log->write(std::move(written));
  return response;
}

HttpResponse RestApi::answer(HttpRequest request, const std::stop_token& stop) {
  const Result<RouteMatch> match = find_route(request.head.method, request.head.target);
  if (!match.ok()) return error_response(match.error());
  AccessEntry entry = access_entry(request.head, *match);
  Result<HttpResponse> response =
      perform({.match = *match, .request = std::move(request), .stop = stop, .entry = entry});
  return logged(entry, *match, response.ok() ? std::move(*response) : error_response(response.error()));
}

Result<HttpResponse> RestApi::perform(const Call& call) {
  switch (call.match.route->operation) {
    case Operation::describe_server:
      return json_response(server_json(facts_.version));
    case Operation::say_live:
      return json_response({{"live", true}});
    case Operation::say_ready: {
      const bool is_ready = models_.is_ready();
      return json_response({{"ready", is_ready}}, is_ready ? 200 : 400);
    }
    case Operation::describe_model:
      return describe_model(call);
    case Operation::say_model_ready:
      return say_model_ready(call);
    case Operation::configure_model:
      return configure_model(call);
    case Operation::count_model:
    case Operation::count_models:
      return count_models(call.model(), call.version());
    case Operation::infer:
      return infer(call);
    case Operation::classify:
      return classify(call);
    case Operation::list_models:
      return list_models(call);
    case Operation::load_model:
    case Operation::unload_model:
      return load_model(call);
    case Operation::update_model:
      return update_model(call);
    case Operation::describe_service:
      return describe_service(call);
    case Operation::describe_interface:
      return json_response(openapi_page(facts_.version, rules_.asks()));
    case Operation::export_metrics:
      return export_metrics();
  }
  return make_error(Code::internal, "a route without an operation");
}

Result<HttpResponse> RestApi::describe_model(const Call& call) const {
  MG_TRY(const auto model, models_.find(call.model(), call.version()));
  return json_response(metadata_json(model->metadata(), ready_versions(models_, call.model())));
}

HttpResponse RestApi::say_model_ready(const Call& call) const {
  const auto model = models_.find(call.model(), call.version());
  if (model.ok()) return json_response({{"name", call.model()}, {"ready", true}});
  return json_response({{"name", call.model()}, {"ready", false}, {"error", model.error().message}},
                       model.code() == Code::not_found ? 404 : 400);
}

Result<HttpResponse> RestApi::configure_model(const Call& call) const {
  MG_TRY(const auto model, models_.find(call.model(), call.version()));
  return json_response(configuration_json(model->metadata()));
}

Result<HttpResponse> RestApi::count_models(const std::string& model, const std::string& version) const {
  MG_TRY(const auto models, models_named(models_, model, version));
  return json_response(statistics_json(models));
}

/// Passes a request on to a model as part of the call's trace. errors: those of ask_and_wait().
Result<InferenceResponse> RestApi::ask(const Call& call, const std::shared_ptr<Model>& model,
                                       InferenceRequest request) const {
  call.entry.version = model->metadata().version;
  request.trace_id = call.entry.trace.trace_id;
  MG_TRY(InferenceResponse answer,
         ask_and_wait(model, std::move(request), call.request.head.came, traffic_, call.stop));
  note_answer(call.entry, answer);
  return answer;
}

Result<HttpResponse> RestApi::infer(const Call& call) {
  const HttpHead& head = call.request.head;
  MG_TRY(const std::optional<std::size_t> length, json_length(head));
  MG_TRY(const auto model, models_.find(call.model(), call.version()));
  MG_TRY(JsonRequest parsed, parse_json_request(call.request.body, length, SteadyClock().now()));
  const std::string id = parsed.request.id;
  call.entry.id = id;
  MG_TRY(const InferenceResponse answer, ask(call, model, std::move(parsed.request)));
  JsonResponse written = write_json_response(call.model(), id, answer, parsed.binary);
  HttpResponse response;
  response.body = std::move(written.body);
  if (written.is_binary) {
    response.content_type = "application/octet-stream";
    response.headers.emplace_back(kJsonLength, std::to_string(written.json_bytes));
  }
  return response;
}

Result<HttpResponse> RestApi::classify(const Call& call) {
  MG_TRY(const std::optional<std::string> wanted, query_value(call.request.head.target, "k"));
  std::int64_t count = kTopClasses;
  if (wanted) {
    MG_TRY(count, parse_whole_number(*wanted, 1, kMostTopClasses).context("k"));
  }
  MG_TRY(const auto model, models_.find(call.model(), call.version()));
  MG_TRY(InferenceRequest request, classifier_.request(model->metadata(), call.request.body));
  const auto top = static_cast<std::size_t>(count);
  if (const HttpHead& head = call.request.head; accepts(head.accept, kEventStream) && head.takes_pieces) {
    request.trace_id = call.entry.trace.trace_id;
    Result<HttpResponse> events = classify_by_exits(call, model, request, top);
    const bool takes_json = accepts(head.accept, "application/json") || accepts(head.accept, "*/*");
    if (events.ok() || events.code() != Code::unimplemented || !takes_json) return events;
  }
  MG_TRY(const InferenceResponse answer, ask(call, model, std::move(request)));
  MG_TRY(const auto classes, classification_json(model->metadata(), answer, top));
  return json_response(classes);
}

/// The answer of each exit as an event, as soon as it is there. errors: those of Model::begin_exits().
Result<HttpResponse> RestApi::classify_by_exits(const Call& call, const std::shared_ptr<Model>& model,
                                                const InferenceRequest& request, std::size_t top) const {
  MG_TRY(const std::optional<std::string> thresholds, query_value(call.request.head.target, "exit_thresholds"));
  call.entry.version = model->metadata().version;
  auto run = model->begin_exits(request, thresholds.value_or(""));
  if (!run.ok()) {
    if (run.code() != Code::unimplemented) traffic_->failed();
    return run.error();
  }
  const auto events = std::make_shared<ExitEvents>(
      std::move(*run),
      ExitEvents::Context{
          .model = model, .top = top, .traffic = traffic_, .access_log = facts_.access_log, .entry = call.entry});
  HttpResponse response;
  response.content_type = kEventStream;
  response.headers.emplace_back("Cache-Control", "no-store");
  response.stream = [events](const std::stop_token& stop) { return events->next(stop); };
  return response;
}

Result<HttpResponse> RestApi::list_models(const Call& call) const {
  MG_TRY(const nlohmann::json wish, optional_object(call.request.body));
  const auto ready = wish.find("ready");
  if (ready != wish.end() && !ready->is_boolean())
    return make_error(Code::invalid_argument, "'ready' is neither true nor false");
  return json_response(index_json(models_.index(), ready != wish.end() && ready->get<bool>()));
}

Result<HttpResponse> RestApi::load_model(const Call& call) {
  MG_TRY(const nlohmann::json wish, optional_object(call.request.body));
  if (call.match.route->operation == Operation::unload_model) {
    MG_RETURN_IF_ERROR(models_.unload(call.model()));
    return HttpResponse{};
  }
  const auto parameters = wish.find("parameters");
  if (parameters != wish.end() && !parameters->empty())
    return make_error(Code::unimplemented, "parameters of loading are not served; the model's own files are loaded");
  MG_RETURN_IF_ERROR(models_.load(call.model(), call.entry.client));
  return HttpResponse{};
}

Result<HttpResponse> RestApi::update_model(const Call& call) {
  MG_TRY(UpdateOptions options, update_options(call.request.head.target));
  options.owner = call.entry.client;
  if (call.request.body.empty()) return make_error(Code::invalid_argument, "the body is the new network; it is empty");
  MG_TRY(const std::int64_t version, models_.update(call.model(), call.request.body, options));
  return json_response(
      nlohmann::ordered_json(job::json_of(UpdateBegun{.name = call.model(), .version = std::to_string(version)})));
}

Result<HttpResponse> RestApi::describe_service(const Call& call) const {
  MG_TRY(const ServiceStatus status, models_.status(call.model()));
  return json_response(nlohmann::ordered_json(job::json_of(status)));
}

Result<HttpResponse> RestApi::export_metrics() const {
  MG_TRY(const auto models, models_named(models_, "", ""));
  HttpResponse response;
  response.content_type = "text/plain; version=0.0.4";
  response.body = metrics_text(models, traffic_->counts());
  if (facts_.more_metrics) response.body += facts_.more_metrics();
  return response;
}

}  // namespace mangrove::serve
