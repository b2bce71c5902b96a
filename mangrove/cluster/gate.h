#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "mangrove/base/mutex.h"
#include "mangrove/base/result.h"
#include "mangrove/cluster/audit_log.h"
#include "mangrove/cluster/refusals.h"
#include "mangrove/cluster/registrar.h"
#include "mangrove/net/credentials.h"

namespace grpc {
class Status;
}

namespace mangrove::cluster {

/// Who may call what on the coordinator.
/// threads: any thread may call any method.
class Gate {
 public:
  /// asks_who: false if links are in plain text; then everybody may do everything. registrar: knows which certificates
  /// are revoked. audit: gets what is done and what is refused. Both may be null. refusals: counts what is refused. All
  /// must outlive the gate.
  Gate(bool asks_who, const Registrar* registrar, AuditLog* audit, Refusals& refusals)
      : asks_who_(asks_who), registrar_(registrar), audit_(audit), refusals_(refusals) {}

  /// Lets a caller with one of these roles in. Returns nothing if links are in plain text. call: the name of the call
  /// for the audit log; by default that of the function that calls admit().
  /// errors: permission_denied (no certificate, revoked, expired, another role; says which).
  Result<std::optional<net::Caller>> admit(const grpc::ServerContextBase& context,
                                           std::initializer_list<identity::Role> roles,
                                           const char* call = __builtin_FUNCTION()) const;
  /// Counts that something is refused to the caller, and writes it into the audit log. Returns the error for the
  /// caller.
  grpc::Status refuse(const grpc::ServerContextBase& context, Refusal why, const Status& error,
                      const std::string& what = "call") const;
  Refusals& refusals() const { return refusals_; }
  /// Writes into the audit log that the caller has done `what`, or has tried to. Counts what is not allowed. about: see
  /// AuditLog::Entry.
  void record(const grpc::ServerContextBase& context, const std::string& what, const std::string& about,
              const Status& outcome = {}) const;
  /// Does as record() for a call that lets members in or revokes them, which is also kept in members.jsonl if it
  /// succeeded.
  void record_members(const grpc::ServerContextBase& context, const std::string& what, const std::string& about,
                      const Status& outcome = {}) const;
  /// Checks that the caller may handle a job of this owner (see Job): as its owner, as an admin, or because links are
  /// in plain text. errors: permission_denied (says whose job it is).
  static Status check_owner(const std::optional<net::Caller>& caller, const std::string& owner);
  std::set<std::string> revoked() const {
    return registrar_ != nullptr ? registrar_->revoked() : std::set<std::string>();
  }
  /// Notes that the member has a new certificate, valid until `until`. What the member has opened with an older one may
  /// go on until then.
  void renewed(const identity::Subject& member, identity::WallTime until);
  /// Whether a certificate that is valid until valid_to has expired, and its member has no younger one that is valid.
  /// member: the URI of its subject.
  bool has_expired(const std::string& member, identity::WallTime valid_to, identity::WallTime now) const;
  /// Whether the certificate with this serial is revoked.
  bool is_revoked(const std::string& serial) const { return registrar_ != nullptr && registrar_->is_revoked(serial); }

 private:
  static AuditLog::Entry entry(const grpc::ServerContextBase& context, const std::string& what,
                               const std::string& about, const Status& outcome);
  Status check(const std::optional<net::Caller>& caller, std::initializer_list<identity::Role> roles) const;

  const bool asks_who_;
  const Registrar* const registrar_;
  AuditLog* const audit_;
  Refusals& refusals_;
  mutable Mutex mutex_;
  std::map<std::string, identity::WallTime> renewed_ MG_GUARDED_BY(mutex_);  // by URI: end of the newest certificate
};

}  // namespace mangrove::cluster
