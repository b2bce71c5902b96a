#pragma once

#include <initializer_list>
#include <optional>

#include "mangrove/base/result.h"
#include "mangrove/cluster/registrar.h"
#include "mangrove/net/credentials.h"

namespace mangrove::cluster {

/// Who may call what on the coordinator.
/// threads: any thread may call any method.
class Gate {
 public:
  /// asks_who: false where links are in plain text: then everybody may do everything. registrar: knows who was revoked;
  /// may be null. It must outlive the gate.
  Gate(bool asks_who, const Registrar* registrar) : asks_who_(asks_who), registrar_(registrar) {}

  /// Nothing: it does not ask. errors: permission_denied (no certificate, revoked, another role; says which).
  Result<std::optional<net::Caller>> admit(const grpc::ServerContextBase& context,
                                           std::initializer_list<identity::Role> roles) const;
  /// Whether the job is his own: nobody was asked who he is, or he began it, or is an admin. owner: see Job.
  /// errors: permission_denied (says whose it is).
  static Status check_owner(const std::optional<net::Caller>& caller, const std::string& owner);
  /// Whether it would not be let in any more, whatever its role is.
  bool is_revoked(const grpc::ServerContextBase& context) const;

 private:
  const bool asks_who_;
  const Registrar* const registrar_;
};

}  // namespace mangrove::cluster
