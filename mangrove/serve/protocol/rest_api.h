#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "mangrove/serve/http/message.h"
#include "mangrove/serve/protocol/access.h"
#include "mangrove/serve/protocol/access_log.h"
#include "mangrove/serve/protocol/image_classifier.h"
#include "mangrove/serve/protocol/models.h"
#include "mangrove/serve/protocol/routes.h"
#include "mangrove/serve/protocol/traffic.h"

namespace mangrove::serve {

/// The REST of the Open Inference Protocol v2, with Triton's extensions for binary tensors, statistics, the model
/// repository and model configurations, and the classification of images. Knows nothing of sockets.
/// source: kserve/open-inference-protocol, specification/protocol/inference_rest.md; triton-inference-server/server,
/// docs/protocol.
/// threads: any thread may call any method.
class RestApi final : public HttpHandler {
 public:
  struct Facts {
    std::string version = {};                        // of the server
    std::function<std::string()> more_metrics = {};  // what follows those of the models; empty: nothing
    AccessLog* access_log = nullptr;                 // gets every request to a model; must outlive this; null: none
  };
  /// models, rules, classifier: must outlive this.
  RestApi(Models& models, const AccessRules& rules, ImageClassifier& classifier, std::shared_ptr<Traffic> traffic,
          Facts facts)
      : models_(models),
        rules_(rules),
        classifier_(classifier),
        traffic_(std::move(traffic)),
        facts_(std::move(facts)) {}

  std::optional<HttpResponse> refuse(const HttpHead& head) const override;
  HttpResponse answer(HttpRequest request, const std::stop_token& stop) override;
  HttpResponse error(const HttpHead& head, int status, const std::string& message) const override;

 private:
  struct Call;
  AccessEntry access_entry(const HttpHead& head, const RouteMatch& match) const;
  HttpResponse logged(const AccessEntry& entry, const RouteMatch& match, HttpResponse response) const;
  Result<HttpResponse> perform(const Call& call);
  Result<HttpResponse> describe_model(const Call& call) const;
  HttpResponse say_model_ready(const Call& call) const;
  Result<HttpResponse> configure_model(const Call& call) const;
  Result<HttpResponse> count_models(const std::string& model, const std::string& version) const;
  Result<InferenceResponse> ask(const Call& call, const std::shared_ptr<Model>& model, InferenceRequest request) const;
  Result<HttpResponse> infer(const Call& call);
  Result<HttpResponse> classify(const Call& call);
  Result<HttpResponse> classify_by_exits(const Call& call, const std::shared_ptr<Model>& model,
                                         const InferenceRequest& request, std::size_t top) const;
  Result<HttpResponse> list_models(const Call& call) const;
  Result<HttpResponse> load_model(const Call& call);
  Result<HttpResponse> update_model(const Call& call);
  Result<HttpResponse> describe_service(const Call& call) const;
  Result<HttpResponse> export_metrics() const;

  Models& models_;
  const AccessRules& rules_;
  ImageClassifier& classifier_;
  const std::shared_ptr<Traffic> traffic_;
  const Facts facts_;
};

}  // namespace mangrove::serve
