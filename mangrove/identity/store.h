#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/result.h"
#include "mangrove/identity/identity.h"
#include "mangrove/identity/join_string.h"

namespace mangrove::identity {

/// The identities that a person, or a board, has in clusters: a folder with a file for each.
class IdentityStore {
 public:
  struct Entry {
    fs::path path;
    Identity identity;
    std::string invitation;  // id of the invitation with which it joined; "": it came another way
  };

  explicit IdentityStore(fs::path folder) : folder_(std::move(folder)) {}
  /// $XDG_CONFIG_HOME/mangrove/identities, else ~/.config/mangrove/identities
  static IdentityStore of_user();

  /// The identities that trust this authority, the most powerful role first. Files that hold no identity are skipped.
  /// errors: permission_denied (other users may read the file of such an identity; says which chmod to run).
  Result<std::vector<Entry>> of_authority(const std::string& authority_hash) const;
  /// All identities, of whatever cluster, in the same order. errors: those of of_authority().
  Result<std::vector<Entry>> all() const;
  /// The identities that joined with this invitation, whatever authority they trust by now. errors: those of
  /// of_authority().
  Result<std::vector<Entry>> of_invitation(const std::string& id) const;
  /// Keeps an identity and returns its file. An identity of the same cluster, role and name is replaced.
  /// invitation: id of the invitation with which it joined; "": it came another way.
  /// errors: those of make_secret_folder(), write_private_file() and of_authority().
  Result<fs::path> save(const Identity& identity, const std::string& invitation = "") const;

  /// The key to join with: that of an earlier attempt with the same string and subject, or a new one, which is kept. If
  /// the coordinator's answer is lost, the next attempt thus has the same key, and the string is not used up. errors:
  /// those of make_secret_folder(), read_secret_file(), PrivateKey::parse() and write_private_file().
  Result<PrivateKey> joining_key(const JoinString& string, const Subject& wished) const;
  /// Removes the key of joining_key(). To be called after joining, when the key is in the identity.
  void forget_joining_key(const JoinString& string, const Subject& wished) const;

  /// Remembers that a coordinator with certificates was seen at this port of this machine. What listens there without
  /// certificates later may be another program. A failure to write is only logged.
  void remember_local_coordinator(int port) const;
  bool knows_local_coordinator(int port) const;

  const fs::path& folder() const { return folder_; }

 private:
  Result<std::vector<Entry>> find(const std::function<bool(const std::string& file)>& is_named_so,
                                  const std::function<bool(const Entry&)>& is_wanted) const;
  fs::path joining_key_file(const JoinString& string, const Subject& wished) const;

  fs::path folder_;
};

}  // namespace mangrove::identity
