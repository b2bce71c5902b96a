#include "mangrove/cluster/access.h"

#include <algorithm>
#include <optional>

#include "mangrove/base/file.h"
#include "mangrove/base/host_name.h"
#include "mangrove/base/log.h"
#include "mangrove/base/units.h"
#include "mangrove/cluster/address.h"
#include "mangrove/cluster/client.h"
#include "mangrove/cluster/coordinator_search.h"
#include "mangrove/cluster/enrolment.h"
#include "mangrove/identity/peek.h"

namespace mangrove::cluster {
namespace {

using identity::Certificate;
using identity::Identity;
using identity::IdentityStore;
using identity::Role;
using Found = std::shared_ptr<const net::Credentials>;
using Shown = std::optional<std::vector<Certificate>>;

constexpr std::chrono::seconds kOwnNodeJoinsWithin(60);

/// "pi" is the name that was asked for, "pi-2" the one that was free.
bool is_name_for(const std::string& wanted, const std::string& name) {
  if (wanted.empty() || name == wanted) return true;
  if (!name.starts_with(wanted + "-")) return false;
  const std::string end = name.substr(wanted.size() + 1);
  return !end.empty() && end.find_first_not_of("0123456789") == std::string::npos;
}

bool fits(const Identity& identity, const Access& access) {
  const auto& roles = access.roles;
  return std::ranges::find(roles, identity.subject().role) != roles.end() &&
         is_name_for(access.name, identity.subject().name);
}

Error nothing_fits(const Access& access) {
  const bool is_node = access.roles.front() == Role::node;
  return make_error(
      Code::failed_precondition,
      "the coordinator at " + access.coordinator + " asks for a certificate, and there is none here; " +
          (is_node ? "`mangrove invite --role node` on its machine prints a string for: mangrove node --join"
                   : "`mangrove invite --role client` on its machine prints a string for: mangrove join"));
}

/// The identities of the cluster whose authority the server shows.
Result<std::vector<IdentityStore::Entry>> known_to(const IdentityStore& store, const std::vector<Certificate>& shown) {
  for (const Certificate& authority : shown) {
    if (!authority.is_authority()) continue;
    MG_TRY(std::vector<IdentityStore::Entry> known, store.of_authority(authority.hash()));
    if (!known.empty()) return known;
  }
  return std::vector<IdentityStore::Entry>();
}

/// Checks that the server is the coordinator of this identity's cluster.
Status check_own_coordinator(const std::vector<Certificate>& shown, const Identity& own) {
  MG_RETURN_IF_ERROR(check_chain(shown, own.authorities(), identity::wall_now()));
  MG_TRY(const identity::Subject subject, shown.front().subject());
  if (subject.role == Role::coordinator) return {};
  return make_error(Code::permission_denied,
                    "its certificate is that of the " + std::string(role_name(subject.role)) + " " + subject.name);
}

/// Invites and joins a node of a user who is an admin, so that the user need not copy a join string.
Result<fs::path> invite_own_node(const Access& access, const IdentityStore& store, const fs::path& admin,
                                 const std::vector<Certificate>& shown, Deadline deadline,
                                 const std::stop_token& stop) {
  const identity::Subject wished{Role::node, access.name.empty() ? host_name() : access.name};
  MG_RETURN_IF_ERROR(identity::check_name(wished.name).context("name of the node"));
  MG_TRY(const std::shared_ptr<const net::Credentials> own, net::Credentials::load(admin));
  MG_RETURN_IF_ERROR(check_own_coordinator(shown, own->identity()));
  MG_TRY(const std::unique_ptr<Client> client, Client::connect(access.coordinator, own));
  InviteRequest request;
  request.set_role(role_name(Role::node));
  request.set_ttl_s(kOwnNodeJoinsWithin.count());
  request.set_uses(1);
  MG_TRY(const InviteResponse invited, client->invite(request));
  MG_TRY(identity::JoinString string, identity::JoinString::parse(invited.join_string()));
  string.address = access.coordinator;
  MG_TRY(const Identity joined, enrol(string, wished, deadline, stop));
  log_info("joined the cluster of which this user is an admin", {{"name", joined.subject().name}});
  return store.save(joined, string.id);
}

Result<fs::path> find_file(const Access& access, const IdentityStore& store, const std::vector<Certificate>& shown,
                           Deadline deadline, const std::stop_token& stop) {
  if (!access.identity.empty()) return access.identity;
  MG_TRY(const std::vector<IdentityStore::Entry> known, known_to(store, shown));
  const IdentityStore::Entry* expired = nullptr;
  for (const IdentityStore::Entry& entry : known) {
    if (!fits(entry.identity, access)) continue;
    if (entry.identity.check(identity::wall_now()).ok()) return entry.path;
    expired = &entry;
  }
  if (access.roles.front() == Role::node)
    for (const IdentityStore::Entry& entry : known)
      if (entry.identity.subject().role == Role::admin && entry.identity.check(identity::wall_now()).ok())
        return invite_own_node(access, store, entry.path, shown, deadline, stop);
  if (expired != nullptr) return expired->path;  // the error will name it
  return nothing_fits(access);
}

/// Joins, and returns the file of the new identity.
Result<fs::path> join(const identity::JoinString& string, const Shown& shown, const identity::Subject& wished,
                      const IdentityStore& store, const std::stop_token& stop) {
  MG_TRY(const identity::PrivateKey key, store.joining_key(string, wished));
  MG_TRY(const Identity joined, enrol_at(string, shown, wished, stop, key));
  MG_TRY(fs::path file, store.save(joined, string.id));
  store.forget_joining_key(string, wished);
  return file;
}

Result<std::shared_ptr<const net::Credentials>> read_credentials() {
  MG_TRY(const std::string text, read_file("/dev/stdin"));
  MG_TRY(Identity identity, Identity::parse(text).context("standard input"));
  MG_RETURN_IF_ERROR(identity.check(identity::wall_now()).context("standard input"));
  return net::Credentials::of(std::move(identity));
}

/// How the owner of an expired identity gets another: the end of an error message.
std::string way_out(const identity::Subject& subject) {
  if (subject.role == Role::admin)
    return "; start its coordinator again, which makes the identity of its user anew, or join with a string of another "
           "admin";
  const bool is_node = subject.role == Role::node;
  return std::string("; get a new string with `mangrove invite --role ") + role_name(subject.role) + " --name " +
         subject.name + "`, and run: mangrove " + (is_node ? "node --join" : "join");
}

/// Loads as Credentials::load() does. If the certificate has expired, the error says how to get another.
Result<std::shared_ptr<const net::Credentials>> load_own(const fs::path& file) {
  MG_TRY(const Identity own, Identity::load(file));
  const identity::WallTime now = identity::wall_now();
  const Status good = own.check(now);
  if (good.ok() || now < own.certificate().valid_to()) return net::Credentials::load(file);
  return make_error(good.code(), file.string() + ": " + good.error().message + way_out(own.subject()));
}

/// Renews the certificate if it is due. A failure is only logged: the old certificate is valid for a while yet.
void renew_if_due(const Access& access, const fs::path& file, const net::Credentials& own) {
  if (!own.identity().is_due_for_renewal(identity::wall_now())) return;
  const Result<Identity> renewed = renew(access.coordinator, own);
  const Status kept = renewed.ok() ? write_private_file(file, renewed->pem()) : Status(renewed.error());
  if (!kept.ok()) log_warn("certificate not renewed", {{"message", kept.error().message}});
}

/// Asks for the certificates that a server shows. errors: those of peek_certificates(), with what to do.
Result<Shown> look_at(const std::string& address, Deadline deadline, const std::stop_token& stop) {
  const Seconds patience = std::max(deadline - SteadyClock().now(), 0.0);
  Result<Shown> shown = identity::peek_certificates(address, deadline, stop);
  if (shown.ok() || shown.code() != Code::unavailable) return shown;
  return make_error(Code::unavailable, address + ": no coordinator answers (tried for " + format_seconds(patience) +
                                           ": " + shown.error().message +
                                           "); start one with: mangrove coordinator --listen " + address);
}

/// Does as find_credentials() does, with what the coordinator has shown.
Result<Found> find_with(const Access& access, const Shown& shown, const IdentityStore& store, Deadline deadline,
                        const std::stop_token& stop) {
  MG_TRY(const HostPort address, parse_host_port(access.coordinator).context("coordinator"));
  if (!shown) {
    const bool had_one = address.is_loopback() && store.knows_local_coordinator(address.port);
    if (access.identity.empty() && (access.insecure || (address.is_loopback() && !had_one))) return Found();
    if (had_one)
      return make_error(Code::permission_denied,
                        "what answers at " + access.coordinator +
                            " has no certificate, and the coordinator there had one: it may be another program; start "
                            "the coordinator with its state folder again; --insecure does without");
    return make_error(Code::permission_denied,
                      "what answers at " + access.coordinator +
                          " has no certificate: anybody could be it, or read and change what is said; a coordinator "
                          "has one unless it is started with --state none; --insecure does without");
  }
  MG_TRY(const fs::path file, find_file(access, store, *shown, deadline, stop));
  MG_TRY(Found found, load_own(file));
  MG_RETURN_IF_ERROR(check_own_coordinator(*shown, found->identity())
                         .context("what answers at " + access.coordinator + " is refused"));
  if (address.is_loopback()) store.remember_local_coordinator(address.port);
  renew_if_due(access, file, *found);
  return found;
}

}  // namespace

Result<std::shared_ptr<const net::Credentials>> find_credentials(const Access& access, const IdentityStore& store,
                                                                 Deadline deadline, const std::stop_token& stop) {
  MG_RETURN_IF_ERROR(parse_host_port(access.coordinator).context("coordinator"));
  MG_TRY(const Shown shown, look_at(access.coordinator, deadline, stop));
  return find_with(access, shown, store, deadline, stop);
}

Result<Joined> join_or_find_credentials(const Access& access, const identity::JoinString& string,
                                        const identity::Subject& wished, const IdentityStore& store, Deadline deadline,
                                        const std::stop_token& stop) {
  MG_TRY(const std::vector<IdentityStore::Entry> known, store.of_invitation(string.id));
  Access with_file = access;
  identity::JoinString there = string;
  std::vector<std::string> authority_hashes{string.authority_hash};
  for (const IdentityStore::Entry& entry : known) {
    if (!fits(entry.identity, access)) continue;
    with_file.identity = entry.path;
    // the authority of the string may have been replaced since, because its key is in other hands
    authority_hashes = hashes_of(entry.identity.authorities());
  }
  Joined joined;
  const auto join_at = [&](const std::string& address, Deadline until) -> Status {
    with_file.coordinator = there.address = joined.coordinator = address;
    MG_RETURN_IF_ERROR(parse_host_port(address).context("coordinator"));
    MG_TRY(const Shown shown, look_at(address, until, stop));
    const Status is_right = check_coordinator(shown, authority_hashes, identity::wall_now());
    if (access.searches && !is_right.ok())
      return make_error(Code::unavailable, "what answers at " + address + " is not the coordinator (" +
                                               is_right.error().message + "); nothing was said to it");
    if (with_file.identity.empty()) {
      MG_TRY(with_file.identity, join(there, shown, wished, store, stop));
    }
    MG_TRY(joined.credentials, find_with(with_file, shown, store, until, stop));
    return {};
  };
  MG_RETURN_IF_ERROR(access.searches ? call_or_search(access.coordinator, authority_hashes, deadline, stop, join_at)
                                     : join_at(access.coordinator, deadline));
  return joined;
}

Result<std::shared_ptr<const net::Credentials>> load_credentials(const fs::path& file, Role role) {
  const bool is_standard_input = file == "-";
  MG_TRY(const std::shared_ptr<const net::Credentials> loaded,
         is_standard_input ? read_credentials() : net::Credentials::load(file));
  if (loaded->subject().role == role) return loaded;
  return make_error(Code::permission_denied,
                    "the identity is that of the " + std::string(role_name(loaded->subject().role)) + " " +
                        loaded->subject().name + "; one of a " + role_name(role) + " is needed");
}

}  // namespace mangrove::cluster
