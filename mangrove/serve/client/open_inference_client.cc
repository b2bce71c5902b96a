#include "mangrove/serve/client/open_inference_client.h"

#include <algorithm>
#include <utility>

#include "mangrove/base/printable.h"
#include "mangrove/base/stop.h"
#include "mangrove/serve/protocol/datatype.h"
#include "mangrove/serve/protocol/json_tensor.h"

namespace mangrove::serve {
namespace {

constexpr Seconds kFirstPause = 0.1, kLongestPause = 2;

Code code_of_status(int status) {
  switch (status) {
    case 400:
      return Code::invalid_argument;
    case 401:
    case 403:
      return Code::permission_denied;
    case 404:
      return Code::not_found;
    case 409:
      return Code::failed_precondition;
    case 413:
    case 429:
      return Code::resource_exhausted;
    case 501:
      return Code::unimplemented;
    case 503:
      return Code::unavailable;
    case 504:
      return Code::deadline_exceeded;
    default:
      return Code::internal;
  }
}

/// Whether the same call may be answered a little later.
bool is_worth_repeating(const Result<HttpReply>& reply) {
  if (!reply.ok()) return reply.code() == Code::unavailable;
  return reply->status == 429 || reply->status == 503;
}

Seconds pause_before(const Result<HttpReply>& reply, std::int64_t tries) {
  if (reply.ok() && reply->retry_after) return *reply->retry_after;
  return std::min(kFirstPause * static_cast<double>(1LL << std::min<std::int64_t>(tries, 16)), kLongestPause);
}

/// A call that changes something went out, and nobody knows what became of it.
Error lost_change(const Error& failed) {
  return make_error(Code::aborted,
                    failed.message + "; it is not asked again, because it may have done what it was asked for");
}

Error refused(const ServerUrl& url, const HttpReply& reply) {
  return make_error(code_of_status(reply.status), url.to_string() + ": the server answers with status " +
                                                      std::to_string(reply.status) + ": " + read_error(reply.body));
}

std::string model_path(const std::string& model) {
  return "/v2/models/" + percent_encoded(model);
}

HttpCall infer_call(const std::string& model, const InferenceRequest& request, bool as_bytes, Seconds left) {
  HttpCall call{.method = "POST", .target = model_path(model) + "/infer"};
  std::string& out = call.body;
  out = "{";
  if (request.deadline != Deadline::never())
    out += R"("parameters":{"timeout":)" +
           std::to_string(std::max<std::int64_t>(1, static_cast<std::int64_t>(left * 1e6))) +
           (as_bytes ? R"(,"binary_data_output":true},)" : "},");
  else if (as_bytes)
    out += R"("parameters":{"binary_data_output":true},)";
  out += R"("inputs":[)";
  for (const NamedTensor& input : request.inputs) {
    if (&input != &request.inputs.front()) out += ',';
    append_json_tensor(input, as_bytes, out);
  }
  out += "]}";
  if (!as_bytes) return call;
  call.json_length = out.size();
  call.content_type = "application/octet-stream";
  for (const NamedTensor& input : request.inputs) out += bytes_of(input.tensor);
  return call;
}

}  // namespace

std::string percent_encoded(const std::string& name) {
  constexpr std::string_view kPlainCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : name) {
    if (kPlainCharacters.find(c) != std::string_view::npos) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += {'%', kDigits[byte / 16], kDigits[byte % 16]};
  }
  return encoded;
}

Result<HttpReply> OpenInferenceClient::call(const HttpCall& call, Deadline deadline) {
  const Deadline end = std::min(deadline, clock_.after(access_.call_within));
  for (std::int64_t tries = 0;; ++tries) {
    Result<HttpReply> reply = http_.call(call, access_.most_answer, end);
    if (reply.ok() && reply->status >= 200 && reply->status < 300) return reply;
    const Error failed = reply.ok() ? refused(access_.url, *reply) : reply.error();
    if (!reply.ok() && !call.is_idempotent && http_.has_reached()) return lost_change(failed);
    if (stop_.stop_requested()) return make_error(Code::cancelled, "stopped");
    const Seconds pause = pause_before(reply, tries);
    if (!is_worth_repeating(reply) || clock_.now() + pause >= end) return failed;
    if (wait_for_stop(stop_, pause)) return make_error(Code::cancelled, "stopped");
    ++repeated_;
  }
}

Result<ServerDescription> OpenInferenceClient::server() {
  MG_TRY(const HttpReply reply, call({.target = "/v2"}));
  return read_server(reply.body).context(access_.url.to_string());
}

Result<ModelMetadata> OpenInferenceClient::metadata(const std::string& model) {
  MG_TRY(const HttpReply reply, call({.target = model_path(model)}));
  MG_TRY(ModelMetadata metadata, read_metadata(reply.body).context(access_.url.to_string()));
  metadata.name = model;
  const Result<HttpReply> configuration = call({.target = model_path(model) + "/config"});
  // the protocol itself has no configurations: they are an extension
  if (!configuration.ok() && configuration.code() == Code::not_found) return metadata;
  if (!configuration.ok()) return configuration.error();
  MG_TRY(metadata.properties, read_properties(configuration->body).context(access_.url.to_string()));
  return metadata;
}

Result<std::vector<std::string>> OpenInferenceClient::models() {
  MG_TRY(const HttpReply reply, call({.method = "POST", .target = "/v2/repository/index", .body = "{}"}));
  return read_models(reply.body, /*only_ready=*/false).context(access_.url.to_string());
}

Result<std::string> OpenInferenceClient::only_model() {
  MG_TRY(const HttpReply reply, call({.method = "POST", .target = "/v2/repository/index", .body = "{}"}));
  MG_TRY(const std::vector<std::string> names,
         read_models(reply.body, /*only_ready=*/true).context(access_.url.to_string()));
  if (names.size() == 1) return names.front();
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + printable(cut_short(name, 128));
  return make_error(Code::failed_precondition,
                    access_.url.to_string() + (names.empty() ? ": the server has no model that is ready"
                                                             : ": the server has several models: " + list));
}

Result<InferenceResponse> OpenInferenceClient::infer(const ModelMetadata& model, const InferenceRequest& request,
                                                     std::int64_t samples, bool as_bytes) {
  const Seconds left = request.deadline - clock_.now();
  if (left <= 0) return make_error(Code::deadline_exceeded, "the request's deadline has passed");
  MG_TRY(const HttpReply reply, call(infer_call(model.name, request, as_bytes, left), request.deadline));
  return read_outputs(model, samples, reply.body, reply.json_length).context(access_.url.to_string());
}

}  // namespace mangrove::serve
