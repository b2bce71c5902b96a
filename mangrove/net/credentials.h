#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/result.h"
#include "mangrove/identity/identity.h"

namespace grpc {
class ChannelCredentials;
class ServerCredentials;
class ServerContextBase;
}  // namespace grpc

namespace mangrove::net {

/// What a process shows on every link, and whom it believes: TLS 1.3, with a certificate on both sides. Where a pointer
/// to Credentials is null, links are in plain text and anybody is believed.
/// threads: any thread may call any method.
class Credentials {
 public:
  /// Of an identity that stays as it is.
  static std::shared_ptr<const Credentials> of(identity::Identity identity);
  /// Of a file that is read again when another takes its place, if its own certificate is the first in it; else as of().
  /// errors: those of Identity::load() and Identity::check().
  static Result<std::shared_ptr<const Credentials>> load(const fs::path& file);

  const identity::Subject& subject() const { return identity_.subject(); }
  /// As it was in the beginning.
  const identity::Identity& identity() const { return identity_; }
  /// "": it stays as it is.
  const fs::path& file() const { return file_; }

 private:
  friend std::shared_ptr<grpc::ServerCredentials> server_credentials(const Credentials* own,
                                                                     const std::string& strangers_call);
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

/// strangers_call: the one method that clients without a certificate may call, to ask for one, as /SERVICE/METHOD; any
/// other is refused before a byte of its messages is read. "": there is none, and they do not get through the
/// handshake. A certificate that is shown must be good in any case.
std::shared_ptr<grpc::ServerCredentials> server_credentials(const Credentials* own, const std::string& strangers_call);
/// servers: the roles of those that are the right ones at the other end. subject: the one right member among them; "":
/// each of them will do. Names of machines play no part: boards move.
std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const Credentials* own,
                                                              std::vector<identity::Role> servers,
                                                              const std::string& subject = "");
/// Of somebody who has no certificate yet, and believes this authority.
std::shared_ptr<grpc::ChannelCredentials> stranger_credentials(const identity::Certificate& authority,
                                                               std::vector<identity::Role> servers);

/// Who is at the other end of a call.
struct Caller {
  identity::Subject subject;
  std::string serial;           // of its certificate
  identity::WallTime valid_to;  // its certificate; a connection may live longer
};
/// Nothing: it has shown no certificate, or one without a name for us.
std::optional<Caller> caller(const grpc::ServerContextBase& context);

}  // namespace mangrove::net
