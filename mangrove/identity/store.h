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
    std::string invitation;  // id of that which it came from; "": another way
  };

  explicit IdentityStore(fs::path folder) : folder_(std::move(folder)) {}
  /// $XDG_CONFIG_HOME/mangrove/identities, else ~/.config/mangrove/identities
  static IdentityStore of_user();

  /// Those that believe this authority, the most powerful role first. Files that are no identity are skipped.
  /// errors: permission_denied (the file of one may be read by others; says which chmod to run).
  Result<std::vector<Entry>> of_authority(const std::string& authority_hash) const;
  /// The same, of all clusters.
  Result<std::vector<Entry>> all() const;
  /// That which came from this invitation, whatever authority it believes by now.
  Result<std::vector<Entry>> of_invitation(const std::string& id) const;
  /// Returns its file. One of the same cluster, role and name is replaced.
  /// errors: those of make_secret_folder(), write_private_file() and of_authority().
  Result<fs::path> save(const Identity& identity, const std::string& invitation = "") const;

  /// The key to join with: a new one, which is kept, or that of an earlier attempt with the same string and subject.
  /// Who asks again because the answer was lost, asks with the same key, and the string is not used up. errors: those
  /// of make_secret_folder(), read_secret_file(), PrivateKey::parse() and write_private_file().
  Result<PrivateKey> joining_key(const JoinString& string, const Subject& wished) const;
  /// It has joined: the key is in its identity now.
  void forget_joining_key(const JoinString& string, const Subject& wished) const;

  /// Remembers that a coordinator with certificates is at this port of this machine: one without may be another
  /// program.
  void remember_local_coordinator(int port) const;  // as far as it can write
  bool knows_local_coordinator(int port) const;

  const fs::path& folder() const { return folder_; }

 private:
  Result<std::vector<Entry>> find(const std::function<bool(const std::string& file)>& is_named_so,
                                  const std::function<bool(const Entry&)>& is_wanted) const;
  fs::path joining_key_file(const JoinString& string, const Subject& wished) const;

  fs::path folder_;
};

}  // namespace mangrove::identity
