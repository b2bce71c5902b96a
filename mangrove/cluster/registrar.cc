#include "mangrove/cluster/registrar.h"

#include <algorithm>

#include "mangrove/base/log.h"
#include "mangrove/base/suggestion.h"
#include "mangrove/identity/digest.h"
#include "mangrove/identity/secret_file.h"
#include "mangrove/identity/signing_time.h"

namespace mangrove::cluster {
namespace {

using identity::Certificate;
using identity::CertificateRequest;
using identity::Role;
using identity::Subject;
using identity::WallTime;

constexpr std::chrono::seconds kLongestTtl = std::chrono::days(30);  // as long as certificates are remembered
constexpr int kMostUses = 10'000;
constexpr std::int64_t kMostADay = 4;      // certificates of a member; more than one, since an answer can be lost
constexpr std::int64_t kBooksVersion = 1;  // of the tables; 0 had no names, and did not count uses

// The tables of version 0.
const char* const kFirstTables[] = {
    "CREATE TABLE IF NOT EXISTS invitations (id TEXT PRIMARY KEY, secret TEXT NOT NULL, role TEXT NOT NULL, "
    "name TEXT NOT NULL, uses INTEGER NOT NULL, expires INTEGER NOT NULL, withdrawn INTEGER NOT NULL DEFAULT 0)",
    "CREATE TABLE IF NOT EXISTS certificates (serial TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, "
    "key TEXT NOT NULL, invitation TEXT NOT NULL, issued INTEGER NOT NULL, expires INTEGER NOT NULL, "
    "revoked INTEGER NOT NULL DEFAULT 0)",
    "CREATE INDEX IF NOT EXISTS by_name ON certificates (name)",
    "CREATE INDEX IF NOT EXISTS by_invitation ON certificates (invitation)",
};
// Counts the uses of an invitation, since the certificates that it has led to are forgotten sooner.
const char* const kUses[] = {
    "ALTER TABLE invitations ADD COLUMN used INTEGER NOT NULL DEFAULT 0",
    "UPDATE invitations SET used = (SELECT COUNT(DISTINCT key) FROM certificates WHERE invitation = id)",
};
// Every name that a member has ever had, and the key of its last owner; "": that owner was revoked.
const char* const kFirstNames[] = {
    "CREATE TABLE names (name TEXT PRIMARY KEY, key TEXT NOT NULL)",
    "INSERT INTO names SELECT name, CASE revoked WHEN 0 THEN key ELSE '' END FROM certificates "
    "WHERE rowid IN (SELECT MAX(rowid) FROM certificates GROUP BY name)",
};
// how long a former authority is trusted: what it has signed is valid for no longer, and clocks differ
constexpr std::chrono::seconds kFormerLives = identity::kLifetime + std::chrono::hours(1);

std::int64_t number(WallTime time) {
  return time.time_since_epoch().count();
}

WallTime to_wall(std::int64_t number) {
  return WallTime(std::chrono::seconds(number));
}

Status check(const Invitation& invitation) {
  if (invitation.role == Role::coordinator)
    return make_error(Code::invalid_argument, "a cluster has one coordinator: invite a node, admin, client or viewer");
  if (!invitation.name.empty()) MG_RETURN_IF_ERROR(identity::check_name(invitation.name).context("name"));
  if (invitation.ttl <= std::chrono::seconds(0) || invitation.ttl > kLongestTtl)
    return make_error(Code::invalid_argument, "ttl: must be above 0 and at most 30 days");
  if (invitation.uses < 1 || invitation.uses > kMostUses)
    return make_error(Code::invalid_argument, "uses: must be from 1 to " + std::to_string(kMostUses));
  if (!invitation.name.empty() && invitation.uses > 1)
    return make_error(Code::invalid_argument, "uses: a name is for one member; leave out the name to invite several");
  return {};
}

}  // namespace

Result<std::unique_ptr<Registrar>> Registrar::open(const fs::path& folder, WallTime now) {
  MG_RETURN_IF_ERROR(identity::make_secret_folder(folder));
  MG_TRY(identity::Authority authority, identity::Authority::load_or_make(folder / "authority.pem", now));
  MG_TRY(Database books, Database::open(folder / "members.db"));
  std::unique_ptr<Registrar> registrar(new Registrar(folder, std::move(authority), std::move(books)));
  MutexLock lock(registrar->mutex_);
  MG_RETURN_IF_ERROR(registrar->read_former());
  MG_RETURN_IF_ERROR(registrar->prepare(now));
  return registrar;
}

Status Registrar::bring_up_to_date() {
  MG_TRY(const auto found, books_.run("PRAGMA user_version"));
  const std::int64_t version = integer(found.at(0), 0);
  if (version == kBooksVersion) return {};
  if (version != 0)
    return make_error(Code::unimplemented, (folder_ / "members.db").string() + ": its tables are of version " +
                                               std::to_string(version) + ", this program has version " +
                                               std::to_string(kBooksVersion) + "; use the program that wrote it");
  return books_.together([this]() MG_REQUIRES(mutex_) -> Status {
    for (const char* sql : kFirstTables) MG_RETURN_IF_ERROR(books_.run(sql));
    for (const char* sql : kUses) MG_RETURN_IF_ERROR(books_.run(sql));
    for (const char* sql : kFirstNames) MG_RETURN_IF_ERROR(books_.run(sql));
    MG_RETURN_IF_ERROR(books_.run("PRAGMA user_version = " + std::to_string(kBooksVersion)));
    return {};
  });
}

identity::Authority Registrar::authority() const {
  MutexLock lock(mutex_);
  return authority_;
}

Registrar::Believed Registrar::believed(WallTime now) const {
  MutexLock lock(mutex_);
  return believed_now(now);
}

Registrar::Believed Registrar::believed_now(WallTime now) const {
  Believed all{.between = "", .authorities = authority_.certificate().pem()};
  if (!former_ || now >= former_->dropped) return all;
  all.between = former_->vouches.pem();
  all.authorities += former_->authority.pem();
  return all;
}

/// The file of the former authority is written before that of its follower. If it vouches for another authority than
/// the present one, the change was broken off between the two, and the file does not count.
Status Registrar::read_former() {
  const Result<std::string> text = identity::read_secret_file(former_path());
  if (!text.ok()) return text.code() == Code::not_found ? Status() : Status(text.error());
  MG_TRY(const auto certificates, identity::parse_certificates(*text).context(former_path().string()));
  if (certificates.size() != 2 || !certificates.front().is_authority())
    return make_error(Code::invalid_argument, former_path().string() + ": two certificates were expected");
  const Certificate present = authority_.certificate();
  if (certificates.back().public_hash() != present.public_hash()) return {};
  former_ = Former{certificates.front(), certificates.back(), present.valid_from() + kFormerLives};
  return {};
}

Result<WallTime> Registrar::replace_authority(WallTime now) {
  MutexLock lock(mutex_);
  if (former_ && now < former_->dropped)
    return make_error(Code::failed_precondition, "the authority before this one is believed until " +
                                                     identity::to_text(former_->dropped) +
                                                     "; then this one can be replaced");
  MG_RETURN_IF_ERROR(identity::check_signing_time(authority_.certificate(), now));
  const identity::Authority follower = identity::Authority::make(now);
  MG_TRY(const Certificate vouches, authority_.vouch_for(follower, now));
  const Certificate present = authority_.certificate();
  MG_RETURN_IF_ERROR(write_private_file(former_path(), present.pem() + vouches.pem()));
  MG_RETURN_IF_ERROR(write_private_file(authority_path(), follower.pem()));
  former_ = Former{present, vouches, follower.certificate().valid_from() + kFormerLives};
  authority_ = follower;
  return former_->dropped;
}

Status Registrar::prepare(WallTime now) {
  MG_RETURN_IF_ERROR(bring_up_to_date());
  // The clock may be ahead now and right again tomorrow. So ages are counted up to the last certificate that was
  // issued, if that is earlier than now. Revoked certificates are never deleted.
  MG_TRY(const auto newest, books_.run("SELECT MAX(issued) FROM certificates"));
  const std::int64_t credible = std::min(number(now), integer(newest.at(0), 0)) - kLongestTtl.count();
  MG_RETURN_IF_ERROR(books_.run("DELETE FROM certificates WHERE revoked = 0 AND expires < ?", {credible}));
  MG_RETURN_IF_ERROR(books_.run("DELETE FROM invitations WHERE expires < ?", {credible}));
  MG_TRY(const auto rows, books_.run("SELECT serial FROM certificates WHERE revoked = 1"));
  MutexLock lock(revoked_mutex_);
  for (const Database::Row& row : rows) revoked_.insert(text(row, 0));
  return {};
}

Result<identity::JoinString> Registrar::invite(const Invitation& invitation, const std::string& address, WallTime now) {
  MG_RETURN_IF_ERROR(check(invitation));
  MutexLock lock(mutex_);
  identity::JoinString made = identity::JoinString::make(authority_.certificate().hash(), address);
  MG_RETURN_IF_ERROR(check_role_of_name(invitation, now));
  MG_RETURN_IF_ERROR(
      books_.run("INSERT INTO invitations (id, secret, role, name, uses, expires) VALUES (?, ?, ?, ?, ?, ?)",
                 {made.id, identity::sha256(made.secret), std::string(role_name(invitation.role)), invitation.name,
                  std::int64_t{invitation.uses}, number(now + invitation.ttl)}));
  return made;
}

/// A row of secret, role, name, uses, expires, withdrawn, used. A caller that does not know the secret is not told what
/// has become of the invitation.
Result<Database::Row> Registrar::invitation_of(const std::string& id, const std::string& secret, WallTime now) {
  MG_TRY(const auto rows,
         books_.run("SELECT secret, role, name, uses, expires, withdrawn, used FROM invitations WHERE id = ?", {id}));
  if (rows.empty() || !identity::is_same_secret(text(rows.front(), 0), identity::sha256(secret)))
    return make_error(Code::permission_denied,
                      "this coordinator has not made this join string, or has forgotten it; ask for a new one");
  const Database::Row& row = rows.front();
  if (integer(row, 5) != 0)
    return make_error(Code::permission_denied, "the join string was withdrawn; ask for a new one");
  const WallTime expires = to_wall(integer(row, 4));
  if (now >= expires)
    return make_error(Code::permission_denied,
                      "the join string has expired on " + identity::to_text(expires) + "; ask for a new one");
  return row;
}

Result<Certificate> Registrar::enrol(const std::string& id, const std::string& secret,
                                     const CertificateRequest& request, WallTime now) {
  MutexLock lock(mutex_);
  MG_RETURN_IF_ERROR(identity::check_signing_time(authority_.certificate(), now));  // before the use is counted
  MG_TRY(const Database::Row invitation, invitation_of(id, secret, now));
  MG_TRY(const Role role, identity::parse_role(text(invitation, 1)));
  const Role wanted = request.subject().role;
  if ((wanted == Role::node) != (role == Role::node))  // before the use is counted
    return make_error(Code::permission_denied,
                      std::string("the join string invites a ") + role_name(role) + ", not a " + role_name(wanted));
  const std::string key = request.public_hash();
  MG_TRY(const auto joined, books_.run("SELECT name, key, revoked FROM certificates WHERE invitation = ?", {id}));
  const auto again = [&](const Database::Row& row) { return text(row, 1) == key && integer(row, 2) == 0; };
  if (std::ranges::count_if(joined, again) >= kMostADay)
    return make_error(Code::resource_exhausted, "the join string was used too often with one key; ask for a new one");
  if (const auto first = std::ranges::find_if(joined, again); first != joined.end())
    return sign(request, {role, text(*first, 0)}, id, now);
  const std::int64_t used = integer(invitation, 6);
  if (used >= integer(invitation, 3))
    return make_error(Code::permission_denied, "the join string was used already" +
                                                   (joined.empty() ? "" : ", by " + text(joined.front(), 0)) +
                                                   (used > 1 ? " and others" : "") + "; ask for a new one");
  std::string name = text(invitation, 2);
  if (name.empty()) {
    MG_TRY(name, free_name(request.subject().name, key));
  } else {
    MG_RETURN_IF_ERROR(check_role_of_name({role, name}, now));  // again: somebody may have got it since the invitation
    MG_RETURN_IF_ERROR(revoke_where("name = ? AND role = ? AND key <> ?", {name, std::string(role_name(role)), key}));
  }
  // before signing: if the process dies in between, it is better to have counted a use too many
  MG_RETURN_IF_ERROR(books_.run("UPDATE invitations SET used = used + 1 WHERE id = ?", {id}));
  return sign(request, {role, name}, id, now);
}

/// Refuses an invitation for a name that a member of another role has: revoking is by name, and a node that has the
/// name of the coordinator or of an admin must not put these out.
Status Registrar::check_role_of_name(const Invitation& invitation, WallTime now) {
  MG_TRY(const std::vector<MemberRecord> known, list(now));
  for (const MemberRecord& member : known)
    if (!member.is_revoked && member.subject.name == invitation.name && member.subject.role != invitation.role)
      return make_error(Code::already_exists, "'" + invitation.name + "' is the " + role_name(member.subject.role) +
                                                  " of that name; revoke it first, or take another name");
  return {};
}

/// The wanted name, or that with a number, so that no other member has ever had it: jobs and models belong to names,
/// also while their owner is away.
Result<std::string> Registrar::free_name(const std::string& wanted, const std::string& key) {
  std::string name = wanted;
  for (int count = 2;; ++count) {
    MG_TRY(const auto owners, books_.run("SELECT 1 FROM names WHERE name = ? AND key <> ?", {name, key}));
    if (owners.empty()) return name;
    const std::string end = "-" + std::to_string(count);
    name = wanted.substr(0, 63 - end.size()) + end;
  }
}

Result<Certificate> Registrar::sign(const CertificateRequest& request, const Subject& subject,
                                    const std::string& invitation, WallTime now) {
  MG_RETURN_IF_ERROR(identity::check_signing_time(authority_.certificate(), now));
  Certificate made = authority_.sign(request, subject, now);
  const std::string key = request.public_hash();
  const Status kept = books_.together([&]() MG_REQUIRES(mutex_) -> Status {
    MG_RETURN_IF_ERROR(books_.run(
        "INSERT INTO certificates (serial, name, role, key, invitation, issued, expires) VALUES (?, ?, ?, ?, ?, ?, ?)",
        {made.serial(), subject.name, std::string(role_name(subject.role)), key, invitation, number(now),
         number(made.valid_to())}));
    MG_RETURN_IF_ERROR(books_.run("INSERT INTO names VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET key = excluded.key",
                                  {subject.name, key}));
    return {};
  });
  if (!kept.ok()) return kept.error();
  return made;
}

/// Limits how often a member may renew: otherwise it could fill the books.
Status Registrar::check_renewal(const Subject& member, const std::string& serial, WallTime now) {
  MG_TRY(const auto shown, books_.run("SELECT issued, expires FROM certificates WHERE serial = ?", {serial}));
  if (!shown.empty() && number(now) < (integer(shown.front(), 0) + integer(shown.front(), 1)) / 2)
    return make_error(Code::failed_precondition,
                      "the certificate of " + member.name + " is not half as old as it may get: it is not renewed yet");
  MG_TRY(const auto lately,
         books_.run("SELECT COUNT(*) FROM certificates WHERE name = ? AND role = ? AND invitation = '' AND issued > ?",
                    {member.name, std::string(role_name(member.role)), number(now - std::chrono::days(1))}));
  if (integer(lately.at(0), 0) >= kMostADay)
    return make_error(Code::resource_exhausted, member.name + " has had " + std::to_string(kMostADay) +
                                                    " certificates within a day; ask again tomorrow");
  // prepare() deletes old certificates only when the coordinator starts
  MG_RETURN_IF_ERROR(books_.run("DELETE FROM certificates WHERE name = ? AND revoked = 0 AND expires < ?",
                                {member.name, number(now - kLongestTtl)}));
  return {};
}

Result<Certificate> Registrar::renew(const Subject& member, const std::string& serial,
                                     const CertificateRequest& request, WallTime now) {
  if (request.subject() != member)
    return make_error(Code::permission_denied, member.name + " asks for a certificate of " + request.subject().name);
  MutexLock lock(mutex_);
  // the gate has checked it already, but the member may have been revoked since
  if (is_revoked(serial)) return make_error(Code::permission_denied, member.name + " was revoked");
  MG_RETURN_IF_ERROR(check_renewal(member, serial, now));
  return sign(request, member, "", now);
}

Result<identity::Identity> Registrar::issue(const Subject& subject, WallTime now) {
  const identity::PrivateKey key = identity::PrivateKey::make();
  MutexLock lock(mutex_);
  MG_TRY(const Certificate made, sign(CertificateRequest::make(key, subject), subject, "", now));
  const Believed others = believed_now(now);
  return identity::Identity::parse(key.pem() + made.pem() + others.between + others.authorities);
}

fs::path Registrar::admin_file() const {
  MutexLock lock(mutex_);
  return admin_file_;
}

void Registrar::set_admin_file(const fs::path& file) {
  MutexLock lock(mutex_);
  admin_file_ = file;
}

Result<std::vector<MemberRecord>> Registrar::members(WallTime now) {
  MutexLock lock(mutex_);
  return list(now);
}

Result<std::vector<MemberRecord>> Registrar::list(WallTime now) {
  MG_TRY(const auto rows, books_.run("SELECT name, role, MIN(issued), MAX(expires), revoked FROM certificates "
                                     "WHERE expires > ? GROUP BY name, role, revoked ORDER BY MIN(issued), MIN(rowid)",
                                     {number(now)}));
  std::vector<MemberRecord> members;
  for (const Database::Row& row : rows) {
    MG_TRY(const Role role, identity::parse_role(text(row, 1)));
    members.push_back({.subject = {role, text(row, 0)},
                       .since = to_wall(integer(row, 2)),
                       .expires = to_wall(integer(row, 3)),
                       .is_revoked = integer(row, 4) != 0});
  }
  return members;
}

Result<std::vector<OpenInvitation>> Registrar::invitations(WallTime now) {
  MutexLock lock(mutex_);
  MG_TRY(const auto rows, books_.run("SELECT id, role, name, uses, expires, used FROM invitations "
                                     "WHERE withdrawn = 0 AND expires > ? AND used < uses ORDER BY rowid",
                                     {number(now)}));
  std::vector<OpenInvitation> open;
  for (const Database::Row& row : rows) {
    MG_TRY(const Role role, identity::parse_role(text(row, 1)));
    const WallTime expires = to_wall(integer(row, 4));
    open.push_back({.id = text(row, 0),
                    .invitation = {role, text(row, 2), expires - now, static_cast<int>(integer(row, 3))},
                    .used = static_cast<int>(integer(row, 5)),
                    .expires = expires});
  }
  return open;
}

/// Revokes certificates, and withdraws the invitations that their owners joined with: otherwise the owners could join
/// again if uses are left.
Status Registrar::revoke_where(const std::string& condition, const Database::Row& values) {
  MG_TRY(const auto rows, books_.run("SELECT serial FROM certificates WHERE " + condition, values));
  MG_TRY(const auto withdrawn, books_.run("UPDATE invitations SET withdrawn = 1 WHERE withdrawn = 0 AND id IN "
                                          "(SELECT invitation FROM certificates WHERE " +
                                              condition + ") RETURNING id",
                                          values));
  MG_RETURN_IF_ERROR(books_.run("UPDATE certificates SET revoked = 1 WHERE " + condition, values));
  {
    MutexLock lock(revoked_mutex_);
    for (const Database::Row& row : rows) revoked_.insert(text(row, 0));
  }
  for (const Database::Row& row : withdrawn)
    log_info("the join string of a revoked member is withdrawn", {{"invitation", text(row, 0)}});
  return {};
}

Status Registrar::revoke(const std::string& name, WallTime now) {
  MutexLock lock(mutex_);
  // also members whose certificates have expired: the clock may be ahead
  MG_TRY(const auto roles, books_.run("SELECT DISTINCT role FROM certificates WHERE name = ? AND revoked = 0", {name}));
  for (const Database::Row& row : roles)
    if (text(row, 0) == role_name(Role::coordinator))
      return make_error(Code::failed_precondition, "'" + name + "' is the coordinator itself");
  if (!roles.empty()) {
    MG_RETURN_IF_ERROR(revoke_where("name = ?", {name}));
    MG_RETURN_IF_ERROR(books_.run("UPDATE names SET key = '' WHERE name = ?", {name}));
    return {};
  }
  MG_TRY(const auto invitations, books_.run("SELECT 1 FROM invitations WHERE id = ?", {name}));
  if (invitations.empty()) {
    MG_TRY(const std::vector<MemberRecord> known, list(now));
    std::vector<std::string> names;
    for (const MemberRecord& member : known)
      if (!member.is_revoked) names.push_back(member.subject.name);
    return make_error(Code::not_found, "no member or invitation '" + name + "'" + suggestion(name, names));
  }
  MG_RETURN_IF_ERROR(books_.run("UPDATE invitations SET withdrawn = 1 WHERE id = ?", {name}));
  return {};
}

bool Registrar::is_revoked(const std::string& serial) const {
  MutexLock lock(revoked_mutex_);
  return revoked_.contains(serial);
}

std::set<std::string> Registrar::revoked() const {
  MutexLock lock(revoked_mutex_);
  return revoked_;
}

}  // namespace mangrove::cluster
