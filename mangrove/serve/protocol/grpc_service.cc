#include "mangrove/serve/protocol/grpc_service.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <iterator>
#include <utility>

#include "mangrove/net/credentials.h"
#include "mangrove/net/grpc_status.h"
#include "mangrove/serve/protocol/ask.h"
#include "mangrove/serve/protocol/grpc_messages.h"
#include "mangrove/serve/protocol/http_status.h"
#include "mangrove/serve/protocol/server_facts.h"

namespace mangrove::serve {
namespace {

std::string_view authorization_of(const grpc::ServerContextBase& context) {
  const auto found = context.client_metadata().find("authorization");
  if (found == context.client_metadata().end()) return {};
  return {found->second.data(), found->second.size()};
}

/// "": none came, or more than one.
std::string_view traceparent_of(const grpc::ServerContextBase& context) {
  const auto [first, end] = context.client_metadata().equal_range("traceparent");
  if (first == end || std::next(first) != end) return {};
  return {first->second.data(), first->second.size()};
}

/// What gRPC calls a peer ("ipv4:10.0.0.7:51234", "ipv6:%5B::1%5D:51234"), as REST calls it.
std::string address_of(std::string peer) {
  if (!peer.starts_with("ipv4:") && !peer.starts_with("ipv6:")) return peer;
  peer.erase(0, peer.find(':') + 1);
  for (const auto& [escaped, bracket] : {std::pair("%5B", "["), std::pair("%5D", "]")})
    if (const std::size_t at = peer.find(escaped); at != std::string::npos) peer.replace(at, 3, bracket);
  return peer;
}

void log_outcome(AccessLog* log, AccessEntry entry, const Status& outcome) {
  if (log == nullptr) return;
  entry.status = outcome.ok() ? 200 : http_status(outcome.code());
  log->write(std::move(entry));
}

/// The deadline of the call, on the clock of deadlines.
Deadline deadline_of(const grpc::ServerContextBase& context, Instant now) {
  const auto until = context.deadline();
  if (until == std::chrono::system_clock::time_point::max()) return Deadline::never();
  return now + std::chrono::duration<double>(until - std::chrono::system_clock::now()).count();
}

/// An inference that ends once: with the model's answer, or because the server is stopped. It holds the model until
/// then, so that its version is not closed before. gRPC keeps both messages and the reactor until Finish().
class PendingInference {
 public:
  PendingInference(std::shared_ptr<Model> model, const inference::ModelInferRequest& request,
                   inference::ModelInferResponse& response, grpc::ServerUnaryReactor& reactor, AccessLog* log,
                   AccessEntry entry, const std::stop_token& stop)
      : model_(std::move(model)),
        request_(request),
        response_(response),
        reactor_(reactor),
        log_(log),
        entry_(std::move(entry)),
        on_stop_(stop, [this] { finish(make_error(Code::unavailable, "the server is being stopped")); }) {}
  void finish(const Result<InferenceResponse>& answer) {
    if (is_finished_.exchange(true)) return;
    if (answer.ok()) {
      write_response(*answer, request_.model_name(), request_.id(), response_);
      note_answer(entry_, *answer);
    }
    log_outcome(log_, std::move(entry_), answer.ok() ? Status() : Status(answer.error()));
    reactor_.Finish(answer.ok() ? grpc::Status::OK : net::to_grpc(answer.error()));
    model_.reset();
  }

 private:
  std::atomic<bool> is_finished_ = false;
  std::shared_ptr<Model> model_;
  const inference::ModelInferRequest& request_;
  inference::ModelInferResponse& response_;
  grpc::ServerUnaryReactor& reactor_;
  AccessLog* const log_;  // null: none
  AccessEntry entry_;
  const std::stop_callback<std::function<void()>> on_stop_;  // may run as soon as it is made, so it comes last
};

}  // namespace

Shown GrpcService::shown_by(const grpc::ServerContextBase& context) {
  const std::optional<net::Caller> caller = net::caller(context);
  Shown shown{.member = {}, .authorization = authorization_of(context)};
  if (caller) shown.member = caller->subject;
  return shown;
}

Status GrpcService::admit(Right right, const grpc::ServerContextBase& context) const {
  if (right == Right::none || (!rules_.asks() && right != Right::manage)) return {};
  return rules_.admit(right, shown_by(context));
}

AccessEntry GrpcService::access_entry(const grpc::ServerContextBase& context,
                                      const inference::ModelInferRequest& request) const {
  return {.protocol = "grpc",
          .model = request.model_name(),
          .version = request.model_version(),
          .id = request.id(),
          .client = rules_.asks() ? rules_.who(shown_by(context)) : "",
          .from = address_of(context.peer()),
          .trace = trace_of(traceparent_of(context))};
}

grpc::Status GrpcService::ServerLive(grpc::ServerContext* /*context*/, const inference::ServerLiveRequest* /*request*/,
                                     inference::ServerLiveResponse* response) {
  response->set_live(true);
  return grpc::Status::OK;
}

grpc::Status GrpcService::ServerReady(grpc::ServerContext* /*context*/,
                                      const inference::ServerReadyRequest* /*request*/,
                                      inference::ServerReadyResponse* response) {
  response->set_ready(models_.is_ready());
  return grpc::Status::OK;
}

grpc::Status GrpcService::ModelReady(grpc::ServerContext* context, const inference::ModelReadyRequest* request,
                                     inference::ModelReadyResponse* response) {
  response->set_ready(models_.find(request->name(), request->version()).ok());
  return net::to_grpc(admit(Right::look, *context));
}

grpc::Status GrpcService::ServerMetadata(grpc::ServerContext* context,
                                         const inference::ServerMetadataRequest* /*request*/,
                                         inference::ServerMetadataResponse* response) {
  response->set_name(kServerTitle);
  response->set_version(version_);
  for (const char* extension : kExtensions) response->add_extensions(extension);
  return net::to_grpc(admit(Right::look, *context));
}

Status GrpcService::write_metadata_of(const inference::ModelMetadataRequest& request,
                                      inference::ModelMetadataResponse& response) const {
  MG_TRY(const auto model, models_.find(request.name(), request.version()));
  write_metadata(model->metadata(), ready_versions(models_, request.name()), response);
  return {};
}

grpc::Status GrpcService::ModelMetadata(grpc::ServerContext* context, const inference::ModelMetadataRequest* request,
                                        inference::ModelMetadataResponse* response) {
  const Status admitted = admit(Right::look, *context);
  return net::to_grpc(admitted.ok() ? write_metadata_of(*request, *response) : admitted);
}

Status GrpcService::write_configuration_of(const inference::ModelConfigRequest& request,
                                           inference::ModelConfigResponse& response) const {
  MG_TRY(const auto model, models_.find(request.name(), request.version()));
  write_configuration(model->metadata(), *response.mutable_config());
  return {};
}

grpc::Status GrpcService::ModelConfig(grpc::ServerContext* context, const inference::ModelConfigRequest* request,
                                      inference::ModelConfigResponse* response) {
  const Status admitted = admit(Right::look, *context);
  return net::to_grpc(admitted.ok() ? write_configuration_of(*request, *response) : admitted);
}

Status GrpcService::write_statistics_of(const inference::ModelStatisticsRequest& request,
                                        inference::ModelStatisticsResponse& response) const {
  MG_TRY(const auto models, models_named(models_, request.name(), request.version()));
  for (const auto& model : models) write_statistics(*model, *response.add_model_stats());
  return {};
}

grpc::Status GrpcService::ModelStatistics(grpc::ServerContext* context,
                                          const inference::ModelStatisticsRequest* request,
                                          inference::ModelStatisticsResponse* response) {
  const Status admitted = admit(Right::look, *context);
  return net::to_grpc(admitted.ok() ? write_statistics_of(*request, *response) : admitted);
}

grpc::Status GrpcService::RepositoryIndex(grpc::ServerContext* context,
                                          const inference::RepositoryIndexRequest* request,
                                          inference::RepositoryIndexResponse* response) {
  const Status admitted = admit(Right::look, *context);
  if (admitted.ok()) write_index(models_.index(), request->ready(), *response);
  return net::to_grpc(admitted);
}

Status GrpcService::load(const inference::RepositoryModelLoadRequest& request, const std::string& owner) {
  if (!request.parameters().empty())
    return make_error(Code::unimplemented, "parameters of loading are not served; the model's own files are loaded");
  return models_.load(request.model_name(), owner);
}

grpc::Status GrpcService::RepositoryModelLoad(grpc::ServerContext* context,
                                              const inference::RepositoryModelLoadRequest* request,
                                              inference::RepositoryModelLoadResponse* /*response*/) {
  const Status admitted = admit(Right::manage, *context);
  return net::to_grpc(admitted.ok() ? load(*request, rules_.who(shown_by(*context))) : admitted);
}

grpc::Status GrpcService::RepositoryModelUnload(grpc::ServerContext* context,
                                                const inference::RepositoryModelUnloadRequest* request,
                                                inference::RepositoryModelUnloadResponse* /*response*/) {
  const Status admitted = admit(Right::manage, *context);
  return net::to_grpc(admitted.ok() ? models_.unload(request->model_name()) : admitted);
}

Status GrpcService::begin_infer(grpc::CallbackServerContext& context, const inference::ModelInferRequest& request,
                                inference::ModelInferResponse& response, grpc::ServerUnaryReactor& reactor,
                                const AccessEntry& entry) {
  const Instant now = SteadyClock().now();
  MG_RETURN_IF_ERROR(admit(Right::infer, context));
  MG_TRY(const auto model, models_.find(request.model_name(), request.model_version()));
  MG_TRY(InferenceRequest asked, request_of(request, now));
  asked.deadline = std::min(asked.deadline, deadline_of(context, now));
  asked.trace_id = entry.trace.trace_id;
  const auto pending =
      std::make_shared<PendingInference>(model, request, response, reactor, access_log_, entry, cut_.get_token());
  ask(*model, std::move(asked), now, traffic_,
      [pending](const Result<InferenceResponse>& answer) { pending->finish(answer); });
  return {};
}

grpc::ServerUnaryReactor* GrpcService::ModelInfer(grpc::CallbackServerContext* context,
                                                  const inference::ModelInferRequest* request,
                                                  inference::ModelInferResponse* response) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const AccessEntry entry = access_entry(*context, *request);
  const Status begun = begin_infer(*context, *request, *response, *reactor, entry);
  if (begun.ok()) return reactor;
  log_outcome(access_log_, entry, begun);
  reactor->Finish(net::to_grpc(begun));
  return reactor;
}

}  // namespace mangrove::serve
