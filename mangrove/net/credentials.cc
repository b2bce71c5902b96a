#include "mangrove/net/credentials.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <grpcpp/server_context.h>

#include <algorithm>
#include <cstdlib>

#include "mangrove/net/every_call.h"

namespace mangrove::net {
namespace {

namespace tls = grpc::experimental;

constexpr unsigned kLookForRenewalEvery = 10;  // s

/// Makes gRPC refuse TLS 1.2. gRPC (1.51) has no option for that, but takes a list of cipher suites for TLS 1.2. The
/// only suite given here needs a key that both sides share beforehand. Nobody has such a key, so only TLS 1.3 is left.
void want_tls_1_3() {
  static const bool told = setenv("GRPC_SSL_CIPHER_SUITES", "PSK-AES256-GCM-SHA384", 1) == 0;
  MG_CHECK(told);
}

/// Checks the role of the server and, if one is given, its subject: every member of the cluster has a certificate, but
/// only some are servers.
class ServerVerifier final : public tls::ExternalCertificateVerifier {
 public:
  /// subject: see channel_credentials().
  ServerVerifier(std::vector<identity::Role> roles, std::string subject)
      : roles_(std::move(roles)), subject_(std::move(subject)) {}

  bool Verify(tls::TlsCustomVerificationCheckRequest* request, std::function<void(grpc::Status)> /*callback*/,
              grpc::Status* status) override {
    std::vector<identity::Subject> shown;
    for (const grpc::string_ref& uri : request->uri_names())
      if (auto subject = identity::parse_subject({uri.data(), uri.size()}); subject.ok()) shown.push_back(*subject);
    *status = grpc::Status::OK;
    if (shown.size() != 1 || std::ranges::find(roles_, shown.front().role) == roles_.end())
      *status = {grpc::StatusCode::UNAUTHENTICATED, "its certificate is none of a server of this cluster"};
    else if (!subject_.empty() && shown.front().uri() != subject_)
      *status = {grpc::StatusCode::UNAUTHENTICATED, "its certificate is not that of " + subject_};
    return true;  // done
  }
  void Cancel(tls::TlsCustomVerificationCheckRequest* /*request*/) override {}

 private:
  const std::vector<identity::Role> roles_;
  const std::string subject_;
};

/// Refuses the calls of clients without a certificate when their headers are there, without waiting for messages.
class MembersOnly final : public grpc::AuthMetadataProcessor {
 public:
  MembersOnly(std::string strangers_call, OnRefused on_refused)
      : strangers_call_(std::move(strangers_call)), on_refused_(std::move(on_refused)) {}

  bool IsBlocking() const override { return false; }
  grpc::Status Process(const InputMetadata& headers, grpc::AuthContext* proved, OutputMetadata* /*consumed*/,
                       OutputMetadata* /*response*/) override {
    if (proved->IsPeerAuthenticated()) return grpc::Status::OK;
    const auto method = headers.find(":path");
    if (method != headers.end() && method->second == strangers_call_) return grpc::Status::OK;
    on_refused_(Refused::caller);
    return {grpc::StatusCode::PERMISSION_DENIED,
            "no certificate was shown; join the cluster first, with a string of: mangrove invite"};
  }

 private:
  const std::string strangers_call_;
  const OnRefused on_refused_;
};

std::shared_ptr<grpc::ChannelCredentials> make_channel_credentials(
    std::shared_ptr<tls::CertificateProviderInterface> provider, bool has_own, std::vector<identity::Role> servers,
    const std::string& subject) {
  want_tls_1_3();
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(std::move(provider));
  options.watch_root_certs();
  if (has_own) options.watch_identity_key_cert_pairs();
  options.set_certificate_verifier(
      tls::ExternalCertificateVerifier::Create<ServerVerifier>(std::move(servers), subject));
  options.set_check_call_host(false);
  return tls::TlsCredentials(options);
}

}  // namespace

struct Credentials::Provider {
  std::shared_ptr<tls::CertificateProviderInterface> provider;
};

Credentials::Credentials(identity::Identity identity, fs::path file, std::unique_ptr<Provider> provider)
    : identity_(std::move(identity)), file_(std::move(file)), provider_(std::move(provider)) {}

Credentials::~Credentials() = default;

std::shared_ptr<const Credentials> Credentials::of(identity::Identity identity) {
  auto provider = std::make_unique<Provider>();
  provider->provider = std::make_shared<tls::StaticDataCertificateProvider>(
      identity.authorities_pem(), std::vector<tls::IdentityKeyCertPair>{{identity.key().pem(), identity.chain_pem()}});
  return std::shared_ptr<const Credentials>(new Credentials(std::move(identity), "", std::move(provider)));
}

Result<std::shared_ptr<const Credentials>> Credentials::load(const fs::path& file) {
  MG_TRY(identity::Identity identity, identity::Identity::load(file));
  MG_RETURN_IF_ERROR(identity.check(identity::wall_now()).context(file.string()));
  auto provider = std::make_unique<Provider>();
  MG_TRY(const std::string text, read_file(file));
  MG_TRY(const std::vector<identity::Certificate> written, identity::parse_certificates(text));
  // gRPC shows the first certificate of a file as its own, wherever that stands
  if (written.front().hash() != identity.certificate().hash()) return of(std::move(identity));
  // one file holds the key, the certificates and the authorities: each reader takes what it looks for
  provider->provider = std::make_shared<tls::FileWatcherCertificateProvider>(file, file, file, kLookForRenewalEvery);
  return std::shared_ptr<const Credentials>(new Credentials(std::move(identity), file, std::move(provider)));
}

identity::Identity Credentials::current() const {
  if (file_.empty()) return identity_;
  const Result<identity::Identity> renewed = identity::Identity::load(file_);
  return renewed.ok() ? *renewed : identity_;
}

std::shared_ptr<grpc::ServerCredentials> server_credentials(const Credentials* own, const std::string& strangers_call,
                                                            OnRefused on_refused) {
  if (own == nullptr) return grpc::InsecureServerCredentials();
  want_tls_1_3();
  tls::TlsServerCredentialsOptions options(own->provider_->provider);
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(strangers_call.empty() ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                                       : GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY);
  std::shared_ptr<grpc::ServerCredentials> made = tls::TlsServerCredentials(options);
  if (!strangers_call.empty() && strangers_call != kEveryCall)
    made->SetAuthMetadataProcessor(std::make_shared<MembersOnly>(strangers_call, std::move(on_refused)));
  return made;
}

std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const Credentials* own,
                                                              std::vector<identity::Role> servers,
                                                              const std::string& subject) {
  if (own == nullptr) return grpc::InsecureChannelCredentials();
  return make_channel_credentials(own->provider_->provider, true, std::move(servers), subject);
}

std::shared_ptr<grpc::ChannelCredentials> stranger_credentials(const identity::Certificate& authority,
                                                               std::vector<identity::Role> servers) {
  return make_channel_credentials(std::make_shared<tls::StaticDataCertificateProvider>(authority.pem()), false,
                                  std::move(servers), "");
}

std::optional<Caller> caller(const grpc::ServerContextBase& context) {
  const std::shared_ptr<const grpc::AuthContext> proved = context.auth_context();
  if (proved == nullptr || !proved->IsPeerAuthenticated()) return std::nullopt;
  const std::vector<grpc::string_ref> shown = proved->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (shown.size() != 1) return std::nullopt;
  const auto certificates = identity::parse_certificates({shown.front().data(), shown.front().size()});
  if (!certificates.ok()) return std::nullopt;
  Result<identity::Subject> subject = certificates->front().subject();
  if (!subject.ok()) return std::nullopt;
  return Caller{std::move(*subject), certificates->front().serial(), certificates->front().valid_to()};
}

}  // namespace mangrove::net
