#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/mutex.h"
#include "mangrove/base/result.h"
#include "mangrove/cluster/sqlite.h"
#include "mangrove/identity/authority.h"
#include "mangrove/identity/identity.h"
#include "mangrove/identity/join_string.h"

namespace mangrove::cluster {

/// What a join string lets its holder become.
struct Invitation {
  identity::Role role = identity::Role::node;
  std::string name{};                                // of the new member; empty: the one that it asks for
  std::chrono::seconds ttl = std::chrono::hours(1);  // at most 30 days
  int uses = 1;                                      // how many members may join with it; 1 if a name is given
};

/// A member of the cluster: a node or a person with a certificate.
struct MemberRecord {
  identity::Subject subject;
  identity::WallTime since{}, expires{};
  bool is_revoked = false;
};

/// An invitation that can still be used.
struct OpenInvitation {
  std::string id;
  Invitation invitation;
  int used = 0;
  identity::WallTime expires{};
};

/// Decides who becomes a member of a coordinator's cluster. It has the certificate authority, and the database of
/// invitations, members and revoked certificates, which is called "the books" below. Both are in one folder that only
/// its owner may enter; of the secrets of invitations only hashes are kept. Methods that sign fail with
/// failed_precondition if the clock cannot be right, see check_signing_time().
/// threads: any thread may call any method.
class Registrar {
 public:
  /// Makes the authority and the books if there are none. errors: unimplemented (a newer program wrote the books),
  /// those of Authority::load_or_make() and Database::open().
  static Result<std::unique_ptr<Registrar>> open(const fs::path& folder, identity::WallTime now);

  /// The authority that signs now.
  identity::Authority authority() const;
  /// The certificates that a member gets beside its own.
  struct Believed {
    std::string between;      // PEM: leads from the member's certificate to the former authority; "": there is none
    std::string authorities;  // PEM: the present one, and the former one as long as certificates of it are valid
  };
  Believed believed(identity::WallTime now) const;
  /// Makes another authority that signs from now on, and deletes the key of the former one. The former authority has
  /// vouched for the new one, so members trust both until the last certificate of the former one has expired. Returns
  /// that time.
  /// errors: failed_precondition (the authority before this one is still trusted), those of Authority::vouch_for() and
  /// files.
  Result<identity::WallTime> replace_authority(identity::WallTime now);
  fs::path folder() const { return folder_; }
  /// The file with the identity of the admin who runs the coordinator, which renews it. Empty: there is none.
  fs::path admin_file() const;
  void set_admin_file(const fs::path& file);

  /// Makes a join string. address: of this coordinator, for the join string; may be empty.
  /// errors: invalid_argument (the role, name, ttl or uses are not allowed), already_exists (a member with another role
  /// has the name), those of the books.
  Result<identity::JoinString> invite(const Invitation& invitation, const std::string& address, identity::WallTime now);
  /// Makes a member of the holder of an invitation's secret, and signs its certificate. If another member has, or has
  /// ever had, the name that it asks for, the name gets a number: "pi", "pi-2". If the invitation gives the name, the
  /// member that had it before is revoked instead. Asking again with the same key, because the answer was lost, gives
  /// another certificate and does not use the invitation up.
  /// errors: permission_denied (the invitation is not known, used up, expired or withdrawn, or a node uses an
  /// invitation for a person or a person one for a node: says which), resource_exhausted (one key has asked too often),
  /// already_exists (a member with another role has the name that the invitation gives), those of the books.
  Result<identity::Certificate> enrol(const std::string& id, const std::string& secret,
                                      const identity::CertificateRequest& request, identity::WallTime now);
  /// Signs a further certificate for a member that has shown a valid one. serial: of the one that was shown.
  /// errors: permission_denied (the request names another member, or this one was revoked), failed_precondition (the
  /// certificate that was shown is not through half of its life), resource_exhausted (the member has had four within a
  /// day), those of the books.
  Result<identity::Certificate> renew(const identity::Subject& member, const std::string& serial,
                                      const identity::CertificateRequest& request, identity::WallTime now);
  /// Makes an identity, with its key, for the coordinator or the user who runs it. errors: those of the books.
  Result<identity::Identity> issue(const identity::Subject& subject, identity::WallTime now);

  /// All members, revoked ones too, whose certificates have not expired, in order of joining. errors: those of the
  /// books.
  Result<std::vector<MemberRecord>> members(identity::WallTime now);
  Result<std::vector<OpenInvitation>> invitations(identity::WallTime now);
  /// Revokes all certificates of the member with this name and withdraws the invitation that it joined with. If there
  /// is no such member, withdraws the invitation with this id.
  /// errors: not_found (neither is known; names the nearest member), failed_precondition (the name is that of the
  /// coordinator).
  Status revoke(const std::string& name, identity::WallTime now);
  bool is_revoked(const std::string& serial) const;
  /// The serials of all revoked certificates.
  std::set<std::string> revoked() const;

 private:
  Registrar(fs::path folder, identity::Authority authority, Database books)
      : folder_(std::move(folder)), authority_(std::move(authority)), books_(std::move(books)) {}
  Status bring_up_to_date() MG_REQUIRES(mutex_);
  Status prepare(identity::WallTime now) MG_REQUIRES(mutex_);
  Result<std::vector<MemberRecord>> list(identity::WallTime now) MG_REQUIRES(mutex_);
  Result<Database::Row> invitation_of(const std::string& id, const std::string& secret, identity::WallTime now)
      MG_REQUIRES(mutex_);
  Result<std::string> free_name(const std::string& wanted, const std::string& key) MG_REQUIRES(mutex_);
  Status check_renewal(const identity::Subject& member, const std::string& serial, identity::WallTime now)
      MG_REQUIRES(mutex_);
  Status check_role_of_name(const Invitation& invitation, identity::WallTime now) MG_REQUIRES(mutex_);
  Status revoke_where(const std::string& condition, const Database::Row& values) MG_REQUIRES(mutex_);
  Result<identity::Certificate> sign(const identity::CertificateRequest& request, const identity::Subject& subject,
                                     const std::string& invitation, identity::WallTime now) MG_REQUIRES(mutex_);

  struct Former {
    identity::Certificate authority, vouches;  // vouches: signed by `authority`, for the key of the present one
    identity::WallTime dropped{};
  };
  fs::path authority_path() const { return folder_ / "authority.pem"; }
  fs::path former_path() const { return folder_ / "former-authority.pem"; }
  Status read_former() MG_REQUIRES(mutex_);
  Believed believed_now(identity::WallTime now) const MG_REQUIRES(mutex_);

  const fs::path folder_;
  mutable Mutex mutex_;
  identity::Authority authority_ MG_GUARDED_BY(mutex_);
  std::optional<Former> former_ MG_GUARDED_BY(mutex_);
  Database books_ MG_GUARDED_BY(mutex_);
  fs::path admin_file_ MG_GUARDED_BY(mutex_);
  mutable Mutex revoked_mutex_;  // taken last. Of its own, so that the check of each call waits for no disk
  std::set<std::string> revoked_ MG_GUARDED_BY(revoked_mutex_);  // serials
};

}  // namespace mangrove::cluster
