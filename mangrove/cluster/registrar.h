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

/// Who may join, and as what.
struct Invitation {
  identity::Role role = identity::Role::node;
  std::string name{};                                // of the one who joins; empty: what it calls itself
  std::chrono::seconds ttl = std::chrono::hours(1);  // at most 30 days
  int uses = 1;                                      // how many may join with it; 1 where a name is given
};

/// Who has a certificate of the cluster.
struct MemberRecord {
  identity::Subject subject;
  identity::WallTime since{}, expires{};
  bool is_revoked = false;
};

/// Who has been invited and has not joined yet.
struct OpenInvitation {
  std::string id;
  Invitation invitation;
  int used = 0;
  identity::WallTime expires{};
};

/// The coordinator's books of its cluster: its certificate authority, who was invited, who has joined, who was revoked.
/// All of it is in one folder that its owner alone may enter; of the secrets of invitations only hashes are kept.
/// What signs refuses with failed_precondition where the clock cannot be right, see check_signing_time().
/// threads: any thread may call any method.
class Registrar {
 public:
  /// Makes the authority and the books where there are none. errors: unimplemented (the books are of a newer program),
  /// those of Authority::load_or_make() and Database::open().
  static Result<std::unique_ptr<Registrar>> open(const fs::path& folder, identity::WallTime now);

  /// The one that signs now.
  identity::Authority authority() const;
  /// What is given to a member beside its own certificate.
  struct Believed {
    std::string between;      // PEM: what leads from its certificate to a former authority; "": there is none
    std::string authorities;  // PEM: the present one, and the former one while certificates of it live
  };
  Believed believed(identity::WallTime now) const;
  /// Another authority signs from now on, and the key of the one before it is gone. Until the last certificate of that
  /// one has expired members believe both: it vouches for its follower. Returns when it is dropped.
  /// errors: failed_precondition (there was another one within that time), those of Authority::vouch_for() and files.
  Result<identity::WallTime> replace_authority(identity::WallTime now);
  fs::path folder() const { return folder_; }
  /// The identity of the admin who runs the coordinator, which is to be kept from expiring. Empty: there is none.
  fs::path admin_file() const;
  void set_admin_file(const fs::path& file);

  /// address: of this coordinator, for the join string; may be empty.
  /// errors: invalid_argument (a name, a time or a number that makes no sense), already_exists (the name is that of a
  /// member with another role), those of the books.
  Result<identity::JoinString> invite(const Invitation& invitation, const std::string& address, identity::WallTime now);
  /// Lets somebody in who knows the secret of an invitation. A name that somebody else has, or has ever had, gets a
  /// number, "pi", "pi-2", unless the invitation says it: then who had it before is revoked. Who asks again with the
  /// same key, because the answer was lost, gets a certificate again. errors: permission_denied (the invitation is not
  /// known, used, expired or withdrawn, or is for a node where none asks, or the other way round: says which), those of
  /// the books.
  Result<identity::Certificate> enrol(const std::string& id, const std::string& secret,
                                      const identity::CertificateRequest& request, identity::WallTime now);
  /// A further certificate for a member that shows a good one; serial: of that. errors: permission_denied (the request
  /// is for somebody else, or the member was revoked), failed_precondition (what it shows has not lived half of its
  /// life), resource_exhausted (it has had four within a day), those of the books.
  Result<identity::Certificate> renew(const identity::Subject& member, const std::string& serial,
                                      const identity::CertificateRequest& request, identity::WallTime now);
  /// An identity for this machine itself. errors: those of the books.
  Result<identity::Identity> issue(const identity::Subject& subject, identity::WallTime now);

  /// Whose certificates have not expired, in order of joining. errors: those of the books.
  Result<std::vector<MemberRecord>> members(identity::WallTime now);
  Result<std::vector<OpenInvitation>> invitations(identity::WallTime now);
  /// Takes all certificates of the member with this name back, and the invitation that it came with; or the invitation
  /// with this id.
  /// errors: not_found (neither is known; names the nearest member), failed_precondition (it is the coordinator
  /// itself).
  Status revoke(const std::string& name, identity::WallTime now);
  bool is_revoked(const std::string& serial) const;
  /// Serials of all certificates that were taken back.
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
    identity::Certificate authority, vouches;  // for the present one
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
  mutable Mutex revoked_mutex_;  // taken last: every call asks for it, and need not wait for the disk
  std::set<std::string> revoked_ MG_GUARDED_BY(revoked_mutex_);  // serials
};

}  // namespace mangrove::cluster
