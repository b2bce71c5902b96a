#include "mangrove/cli/cluster_access.h"

#include <cstdio>

#include "mangrove/base/file.h"
#include "mangrove/cluster/access.h"
#include "mangrove/cluster/address.h"

namespace mangrove::cli {
namespace {

constexpr Seconds kAnswersWithin = 5;

}  // namespace

Result<std::shared_ptr<const net::Credentials>> find_own_credentials(const ClusterAccess& access,
                                                                     const std::stop_token& stop) {
  using identity::Role;
  const cluster::Access wanted{.coordinator = access.coordinator,
                               .roles = {Role::admin, Role::client, Role::viewer},
                               .name = "",
                               .identity = access.identity,
                               .insecure = access.insecure};
  return cluster::find_credentials(wanted, identity::IdentityStore::of_user(), SteadyClock().after(kAnswersWithin),
                                   stop);
}

Result<std::unique_ptr<cluster::Client>> connect_client(const ClusterAccess& access, const std::stop_token& stop) {
  MG_TRY(auto credentials, find_own_credentials(access, stop));
  return cluster::Client::connect(access.coordinator, std::move(credentials), kAnswersWithin);
}

Result<identity::JoinString> read_join_string(const std::string& text) {
  if (text.starts_with("MG1")) return identity::JoinString::parse(text);
  const fs::path file = text == "-" ? "/dev/stdin" : text;
  const Result<std::string> content = read_file(file);
  // the text is not repeated: a string whose beginning was mistyped holds a secret
  if (!content.ok())
    return make_error(content.code(), "this is neither a join string, which begins with MG1, nor a file to be read");
  return identity::JoinString::parse(*content).context(text == "-" ? "standard input" : text);
}

void warn_if_insecure(bool insecure, const std::string& address) {
  const auto where = cluster::parse_host_port(address);
  if (!insecure || !where.ok() || where->is_loopback()) return;
  std::fprintf(stderr,
               "--insecure: %s is open to everybody who reaches it: they can run jobs, read data and models, change "
               "results, and read and change what is sent; docs/security.md says how to do without\n",
               address.c_str());
}

}  // namespace mangrove::cli
