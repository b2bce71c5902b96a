#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/result.h"
#include "mangrove/serve/client/answer_reader.h"
#include "mangrove/serve/client/http_client.h"
#include "mangrove/serve/client/server_url.h"
#include "mangrove/serve/client/tls_client.h"
#include "mangrove/serve/model.h"

namespace mangrove::serve {

/// How a client reaches a server and what it takes from it.
struct ServerAccess {
  ServerUrl url;
  std::shared_ptr<const TlsClient> tls = {};  // null: plain text
  std::string token = {};                     // "": none
  Bytes most_answer = 64'000'000;             // of one answer; longer ones are an error
  Seconds call_within = 60;                   // a call, with its repetitions
};

/// Asks a server of the Open Inference Protocol v2 over REST: this program's, Triton's, KServe's. Tensors travel as
/// bytes where the server offers the extension binary_tensor_data, else as JSON. Where the server has no room or no
/// model now (429, 503), and where the connection breaks, a call is repeated until its deadline: after the time that
/// the server's Retry-After says, or else after 0.1 s, 0.2 s and so on up to 2 s. So a question may be computed twice.
/// A call that is not idempotent is not repeated once a connection has broken on which it went out.
/// What the server answers is compared with what it has said of the model.
/// source: kserve/open-inference-protocol, specification/protocol/inference_rest.md; triton-inference-server/server,
/// docs/protocol/extension_binary_data.md.
/// threads: one at a time; one object for each request in flight.
class OpenInferenceClient {
 public:
  OpenInferenceClient(const ServerAccess& access, std::stop_token stop)
      : access_(access), stop_(std::move(stop)), http_(access.url, access.tls, access.token) {}

  /// errors of all calls: those of HttpClient::call(); data_loss (see answer_reader.h); what the server has refused, as
  /// its status says: invalid_argument (400), permission_denied (401, 403), not_found (404), resource_exhausted (413,
  /// 429), unimplemented (501), unavailable (503), deadline_exceeded (504), internal; cancelled (stopped).
  Result<ServerDescription> server();
  /// Describes the newest version of a model, with the properties of its configuration where the server offers that.
  Result<ModelMetadata> metadata(const std::string& model);
  /// The names of all models of the server, each once.
  Result<std::vector<std::string>> models();
  /// The only model that the server has. errors: failed_precondition (none, or several: names them).
  Result<std::string> only_model();
  /// The request's inputs have `samples` samples; all of its outputs come back. as_bytes: see
  /// ServerDescription::offers(). The request's deadline counts where it is before that of the call.
  Result<InferenceResponse> infer(const ModelMetadata& model, const InferenceRequest& request, std::int64_t samples,
                                  bool as_bytes);
  /// A call of another kind, repeated in the same way, whose answer is a body. errors: as above; aborted (a call that
  /// is not idempotent has no answer: the server may have carried it out, or not).
  Result<HttpReply> call(const HttpCall& call, Deadline deadline = Deadline::never());

  /// How often calls were repeated.
  std::int64_t repeated() const { return repeated_; }

 private:
  ServerAccess access_;
  const std::stop_token stop_;
  const SteadyClock clock_;
  HttpClient http_;
  std::int64_t repeated_ = 0;
};

/// A name as a segment of a path: with percent signs where it needs them.
std::string percent_encoded(const std::string& name);

}  // namespace mangrove::serve
