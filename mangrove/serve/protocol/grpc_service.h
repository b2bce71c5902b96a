#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "mangrove/serve/open_inference.grpc.pb.h"
#include "mangrove/serve/protocol/access.h"
#include "mangrove/serve/protocol/access_log.h"
#include "mangrove/serve/protocol/models.h"
#include "mangrove/serve/protocol/traffic.h"

namespace mangrove::serve {

/// The gRPC of the Open Inference Protocol v2, with the extensions that RestApi has. Who calls is asked as there: a
/// certificate of the cluster, or the metadata `authorization` with a token. An inference takes no thread while it
/// waits.
/// threads: any thread may call any method.
class GrpcService final
    : public inference::GRPCInferenceService::WithCallbackMethod_ModelInfer<inference::GRPCInferenceService::Service> {
 public:
  /// models, rules, access_log: must outlive this. version: of the server. access_log: gets every inference; null:
  /// there is none.
  GrpcService(Models& models, const AccessRules& rules, std::shared_ptr<Traffic> traffic, std::string version,
              AccessLog* access_log)
      : models_(models),
        rules_(rules),
        traffic_(std::move(traffic)),
        version_(std::move(version)),
        access_log_(access_log) {}

  grpc::Status ServerLive(grpc::ServerContext* context, const inference::ServerLiveRequest* request,
                          inference::ServerLiveResponse* response) override;
  grpc::Status ServerReady(grpc::ServerContext* context, const inference::ServerReadyRequest* request,
                           inference::ServerReadyResponse* response) override;
  grpc::Status ModelReady(grpc::ServerContext* context, const inference::ModelReadyRequest* request,
                          inference::ModelReadyResponse* response) override;
  grpc::Status ServerMetadata(grpc::ServerContext* context, const inference::ServerMetadataRequest* request,
                              inference::ServerMetadataResponse* response) override;
  grpc::Status ModelMetadata(grpc::ServerContext* context, const inference::ModelMetadataRequest* request,
                             inference::ModelMetadataResponse* response) override;
  grpc::Status ModelConfig(grpc::ServerContext* context, const inference::ModelConfigRequest* request,
                           inference::ModelConfigResponse* response) override;
  grpc::Status ModelStatistics(grpc::ServerContext* context, const inference::ModelStatisticsRequest* request,
                               inference::ModelStatisticsResponse* response) override;
  grpc::Status RepositoryIndex(grpc::ServerContext* context, const inference::RepositoryIndexRequest* request,
                               inference::RepositoryIndexResponse* response) override;
  grpc::Status RepositoryModelLoad(grpc::ServerContext* context, const inference::RepositoryModelLoadRequest* request,
                                   inference::RepositoryModelLoadResponse* response) override;
  grpc::Status RepositoryModelUnload(grpc::ServerContext* context,
                                     const inference::RepositoryModelUnloadRequest* request,
                                     inference::RepositoryModelUnloadResponse* response) override;
  grpc::ServerUnaryReactor* ModelInfer(grpc::CallbackServerContext* context,
                                       const inference::ModelInferRequest* request,
                                       inference::ModelInferResponse* response) override;

  /// Inferences end now with `unavailable`: those that wait for a model's answer, and those that come later.
  void cut() { cut_.request_stop(); }

 private:
  static Shown shown_by(const grpc::ServerContextBase& context);
  Status admit(Right right, const grpc::ServerContextBase& context) const;
  AccessEntry access_entry(const grpc::ServerContextBase& context, const inference::ModelInferRequest& request) const;
  Status begin_infer(grpc::CallbackServerContext& context, const inference::ModelInferRequest& request,
                     inference::ModelInferResponse& response, grpc::ServerUnaryReactor& reactor,
                     const AccessEntry& entry);
  Status write_metadata_of(const inference::ModelMetadataRequest& request,
                           inference::ModelMetadataResponse& response) const;
  Status write_configuration_of(const inference::ModelConfigRequest& request,
                                inference::ModelConfigResponse& response) const;
  Status write_statistics_of(const inference::ModelStatisticsRequest& request,
                             inference::ModelStatisticsResponse& response) const;
  Status load(const inference::RepositoryModelLoadRequest& request, const std::string& owner);

  Models& models_;
  const AccessRules& rules_;
  const std::shared_ptr<Traffic> traffic_;
  const std::string version_;
  AccessLog* const access_log_;
  std::stop_source cut_;
};

}  // namespace mangrove::serve
