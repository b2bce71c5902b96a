#include "mangrove/identity/store.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "mangrove/base/log.h"
#include "mangrove/identity/secret_file.h"

namespace mangrove::identity {
namespace {

constexpr std::size_t kHashDigitsInName = 8;
constexpr const char* kLocalCoordinator = "coordinator-at-";
constexpr char kInvitationMark = '@';  // in no name

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// A service may run without the variable.
fs::path home() {
  const std::string told = environment("HOME");
  if (!told.empty()) return told;
  const passwd* user = getpwuid(getuid());
  return user == nullptr ? "/" : user->pw_dir;
}

}  // namespace

IdentityStore IdentityStore::of_user() {
  const std::string folder = environment("XDG_CONFIG_HOME");
  const fs::path base = folder.empty() ? home() / ".config" : fs::path(folder);
  return IdentityStore(base / "mangrove" / "identities");
}

Result<std::vector<IdentityStore::Entry>> IdentityStore::of_authority(const std::string& authority_hash) const {
  return find(authority_hash.substr(0, kHashDigitsInName) + ".", authority_hash);
}

Result<std::vector<IdentityStore::Entry>> IdentityStore::all() const {
  return find("", "");
}

/// authority_hash: "" for any.
Result<std::vector<IdentityStore::Entry>> IdentityStore::find(const std::string& prefix,
                                                              const std::string& authority_hash) const {
  std::vector<Entry> found;
  std::error_code error;
  for (const fs::directory_entry& file : fs::directory_iterator(folder_, error)) {
    const std::string name = file.path().filename();
    if (!name.starts_with(prefix) || file.path().extension() != ".pem") continue;
    Result<Identity> identity = Identity::load(file.path());
    if (!identity.ok() && identity.code() == Code::permission_denied) return identity.error();
    if (!identity.ok()) {
      log_warn("no identity", {{"file", file.path().string()}, {"message", identity.error().message}});
    } else if (authority_hash.empty() || identity->believes(authority_hash)) {
      const std::string stem = file.path().stem();
      const std::size_t mark = stem.find(kInvitationMark);
      found.push_back({file.path(), std::move(*identity), mark == std::string::npos ? "" : stem.substr(mark + 1)});
    }
  }
  std::ranges::sort(found, [](const Entry& a, const Entry& b) {
    return std::pair(a.identity.subject().role, a.path) < std::pair(b.identity.subject().role, b.path);
  });
  return found;
}

Result<fs::path> IdentityStore::save(const Identity& identity, const std::string& invitation) const {
  MG_RETURN_IF_ERROR(make_secret_folder(folder_));
  const std::string authority = identity.authorities().front().hash();
  const Subject& subject = identity.subject();
  std::string name = authority.substr(0, kHashDigitsInName) + "." + role_name(subject.role) + "." + subject.name;
  if (!invitation.empty()) name += kInvitationMark + invitation;
  fs::path path = folder_ / (name + ".pem");
  MG_RETURN_IF_ERROR(write_private_file(path, identity.pem()));
  MG_TRY(const std::vector<Entry> known, of_authority(authority));
  std::error_code error;
  for (const Entry& entry : known)
    if (entry.identity.subject() == subject && entry.path != path) fs::remove(entry.path, error);
  return path;
}

fs::path IdentityStore::joining_key_file(const JoinString& string, const Subject& wished) const {
  return folder_ / (string.authority_hash.substr(0, kHashDigitsInName) + "." + role_name(wished.role) + "." +
                    wished.name + kInvitationMark + string.id + ".key");
}

Result<PrivateKey> IdentityStore::joining_key(const JoinString& string, const Subject& wished) const {
  MG_RETURN_IF_ERROR(make_secret_folder(folder_));
  const fs::path path = joining_key_file(string, wished);
  const Result<std::string> kept = read_secret_file(path);
  if (kept.ok()) return PrivateKey::parse(*kept).context(path.string());
  if (kept.code() != Code::not_found) return kept.error();
  PrivateKey made = PrivateKey::make();
  MG_RETURN_IF_ERROR(write_private_file(path, made.pem()));
  return made;
}

void IdentityStore::remember_local_coordinator(int port) const {
  if (knows_local_coordinator(port)) return;
  Status kept = make_secret_folder(folder_);
  if (kept.ok()) kept = write_private_file(folder_ / (kLocalCoordinator + std::to_string(port)), "");
  if (!kept.ok()) log_warn("coordinator not remembered", {{"message", kept.error().message}});
}

bool IdentityStore::knows_local_coordinator(int port) const {
  std::error_code error;
  return fs::exists(folder_ / (kLocalCoordinator + std::to_string(port)), error);
}

void IdentityStore::forget_joining_key(const JoinString& string, const Subject& wished) const {
  std::error_code error;
  fs::remove(joining_key_file(string, wished), error);
}

}  // namespace mangrove::identity
