#include "mangrove/cli/server_access.h"

#include <memory>
#include <utility>

#include "mangrove/base/file.h"
#include "mangrove/cluster/address.h"
#include "mangrove/identity/identity.h"
#include "mangrove/identity/subject.h"
#include "mangrove/serve/http/tokens.h"
#include "mangrove/serve/protocol/access.h"

namespace mangrove::cli {

void ServerFlags::declare(Keys& keys) {
  keys.begin_group("Server");
  keys.add("url", url, "http://HOST:PORT or https://HOST:PORT of a server of the Open Inference Protocol");
  keys.add("token_file", token_file,
           "file with the token that the server asks for: a line TOKEN, 'user TOKEN' or 'admin TOKEN'; only its owner "
           "may read it");
  keys.add("ca_file", ca_file,
           "PEM file with the authorities that a server of HTTPS is trusted by; default: that of --identity, or those "
           "of this system");
  keys.add("server_name", server_name,
           "name in the server's certificate; default: the host of --url, or 'mangrove' with --identity");
  keys.add_seconds("call_within", call_within, "time for a call with its repetitions", 0.001, 86400);
}

Result<serve::ServerAccess> server_access(const ServerFlags& flags, const std::string& identity, bool insecure) {
  serve::ServerAccess access;
  MG_TRY(access.url, serve::parse_server_url(flags.url).context("--url"));
  access.call_within = flags.call_within;
  if (!flags.token_file.empty()) {
    MG_TRY(access.token, serve::load_own_token(flags.token_file, serve::kTokenHolders).context("--token-file"));
  }
  const bool stays_here = cluster::HostPort{access.url.host, access.url.port}.is_loopback();
  if (!access.token.empty() && !access.url.has_tls && !stays_here && !insecure)
    return make_error(Code::failed_precondition, access.url.to_string() +
                                                     ": a token would go to another machine in plain text; use "
                                                     "https://, or --insecure if the network is your own");
  if (!access.url.has_tls) return access;
  serve::TlsClientOptions tls{.server_name = flags.server_name};
  if (!flags.ca_file.empty()) {
    MG_TRY(tls.authorities, read_file(flags.ca_file).context("--ca-file"));
  }
  if (!identity.empty()) {
    MG_TRY(identity::Identity own, identity::Identity::load(identity).context("--identity"));
    tls.own = std::make_shared<const identity::Identity>(std::move(own));
  }
  if (tls.server_name.empty()) tls.server_name = identity.empty() ? access.url.host : identity::kServerName;
  MG_TRY(access.tls, serve::TlsClient::create(tls));
  return access;
}

}  // namespace mangrove::cli
