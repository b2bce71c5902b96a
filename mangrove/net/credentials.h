#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/result.h"
#include "mangrove/identity/identity.h"
#include "mangrove/net/refused.h"

namespace grpc {
class ChannelCredentials;
class ServerCredentials;
class ServerContextBase;
}  // namespace grpc

namespace mangrove::net {

/// What a process shows on every link, and which authorities it trusts: TLS 1.3 with a certificate on both sides. A
/// null pointer to Credentials stands for links in plain text, on which nobody is asked who he is.
/// threads: any thread may call any method.
class Credentials {
 public:
  /// Credentials of an identity that stays as it is.
  static std::shared_ptr<const Credentials> of(identity::Identity identity);
  /// Credentials of a file with an identity. If the identity's own certificate is the first one in the file, the file
  /// is read again when another takes its place. Otherwise the credentials stay as they are, as with of().
  /// errors: those of Identity::load() and Identity::check().
  static Result<std::shared_ptr<const Credentials>> load(const fs::path& file);

  const identity::Subject& subject() const { return identity_.subject(); }
  /// The identity as it was when it was loaded.
  const identity::Identity& identity() const { return identity_; }
  /// The identity that is used now: that of the file, which may have been renewed; where it cannot be read, the old
  /// one.
  identity::Identity current() const;
  /// The file that is read again when it is replaced; "": there is none.
  const fs::path& file() const { return file_; }

 private:
  friend std::shared_ptr<grpc::ServerCredentials> server_credentials(const Credentials* own,
                                                                     const std::string& strangers_call,
                                                                     OnRefused on_refused);
  friend std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const Credentials* own,
                                                                       std::vector<identity::Role> servers,
                                                                       const std::string& subject);
  struct Provider;
  Credentials(identity::Identity identity, fs::path file, std::unique_ptr<Provider> provider);

 public:
  ~Credentials();

 private:
  const identity::Identity identity_;
  const fs::path file_;
  const std::unique_ptr<Provider> provider_;
};

/// Credentials for a server. own: null for plain text.
/// strangers_call: the one method, as /SERVICE/METHOD, that clients without a certificate may call, to ask for one.
/// Their other calls are refused before a byte of the messages is read. "": there is no such method, and clients
/// without a certificate fail in the handshake. A certificate that a client shows must be valid in any case.
/// on_refused: hears of each call of a client without a certificate that is refused.
std::shared_ptr<grpc::ServerCredentials> server_credentials(
    const Credentials* own, const std::string& strangers_call, OnRefused on_refused = [](Refused) {});
/// Credentials for a client. own: null for plain text. servers: the roles that the server may have. subject: the URI of
/// the only right server; "": each with one of these roles is right. Host names are not compared, since boards move.
std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const Credentials* own,
                                                              std::vector<identity::Role> servers,
                                                              const std::string& subject = "");
/// Credentials for a client that has no certificate yet and trusts this authority.
std::shared_ptr<grpc::ChannelCredentials> stranger_credentials(const identity::Certificate& authority,
                                                               std::vector<identity::Role> servers);

/// The certificate of the client that makes a call.
struct Caller {
  identity::Subject subject;
  std::string serial;           // of its certificate
  identity::WallTime valid_to;  // end of the certificate; a connection may live longer
};
/// The client that makes the call. Nothing: it has shown no certificate, or one without a URI mangrove://ROLE/NAME.
std::optional<Caller> caller(const grpc::ServerContextBase& context);

}  // namespace mangrove::net
