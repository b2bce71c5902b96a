#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "mangrove/base/mutex.h"
#include "mangrove/base/result.h"
#include "mangrove/cluster/audit_log.h"
#include "mangrove/cluster/registrar.h"
#include "mangrove/net/credentials.h"

namespace mangrove::cluster {

/// Who may call what on the coordinator.
/// threads: any thread may call any method.
class Gate {
 public:
  /// asks_who: false where links are in plain text: then everybody may do everything. registrar: knows who was revoked;
  /// audit: gets what is done and what is refused; either may be null. They must outlive the gate.
  Gate(bool asks_who, const Registrar* registrar, AuditLog* audit)
      : asks_who_(asks_who), registrar_(registrar), audit_(audit) {}

  /// The caller, or nothing where links are in plain text and nobody is asked who he is. call: its name for the audit
  /// log; left out, that of the function that asks.
  /// errors: permission_denied (no certificate, revoked, expired, another role; says which).
  Result<std::optional<net::Caller>> admit(const grpc::ServerContextBase& context,
                                           std::initializer_list<identity::Role> roles,
                                           const char* call = __builtin_FUNCTION()) const;
  /// Writes into the audit log that the caller has done this, or tried to. about: see AuditLog::Entry.
  void record(const grpc::ServerContextBase& context, const std::string& what, const std::string& about,
              const Status& outcome = {}) const;
  /// The same of who is let in or thrown out, which is kept for longer.
  void record_members(const grpc::ServerContextBase& context, const std::string& what, const std::string& about,
                      const Status& outcome = {}) const;
  /// Whether the job is his own: nobody was asked who he is, or he began it, or is an admin. owner: see Job.
  /// errors: permission_denied (says whose it is).
  static Status check_owner(const std::optional<net::Caller>& caller, const std::string& owner);
  std::set<std::string> revoked() const {
    return registrar_ != nullptr ? registrar_->revoked() : std::set<std::string>();
  }
  /// The member has a younger certificate now: what it has opened with an older one may go on until that expires.
  void renewed(const identity::Subject& member, identity::WallTime until);
  /// Whether a certificate that ends at valid_to is over, and the member, by its URI, has no younger one.
  bool has_expired(const std::string& member, identity::WallTime valid_to, identity::WallTime now) const;
  /// Whether the certificate of this serial is not let in any more, whatever its role is.
  bool is_revoked(const std::string& serial) const { return registrar_ != nullptr && registrar_->is_revoked(serial); }

 private:
  static AuditLog::Entry entry(const grpc::ServerContextBase& context, const std::string& what,
                               const std::string& about, const Status& outcome);
  Status check(const std::optional<net::Caller>& caller, std::initializer_list<identity::Role> roles) const;

  const bool asks_who_;
  const Registrar* const registrar_;
  AuditLog* const audit_;
  mutable Mutex mutex_;
  std::map<std::string, identity::WallTime> renewed_ MG_GUARDED_BY(mutex_);  // by URI: until when
};

}  // namespace mangrove::cluster
