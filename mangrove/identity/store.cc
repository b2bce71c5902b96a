#include "mangrove/identity/store.h"

#include <algorithm>

#include "mangrove/base/log.h"
#include "mangrove/base/user_folders.h"
#include "mangrove/identity/secret_file.h"

namespace mangrove::identity {
namespace {

constexpr std::size_t kHashDigitsInName = 8;
constexpr const char* kLocalCoordinator = "coordinator-at-";
constexpr char kInvitationMark = '@';  // no name of a member has it

}  // namespace

IdentityStore IdentityStore::of_user() {
  return IdentityStore(config_folder() / "identities");
}

/// is_named_so: whether a file, by its name, is one of those that are looked for. If such a file cannot be read, that
/// is an error; other files that cannot be read are skipped.
Result<std::vector<IdentityStore::Entry>> IdentityStore::find(
    const std::function<bool(const std::string& file)>& is_named_so,
    const std::function<bool(const Entry&)>& is_wanted) const {
  std::vector<Entry> found;
  std::error_code error;
  for (const fs::directory_entry& file : fs::directory_iterator(folder_, error)) {
    if (file.path().extension() != ".pem") continue;
    const std::string stem = file.path().stem();
    Result<Identity> identity = Identity::load(file.path());
    if (!identity.ok()) {
      if (!is_named_so(stem)) continue;
      if (identity.code() == Code::permission_denied) return identity.error();
      log_warn("no identity", {{"file", file.path().string()}, {"message", identity.error().message}});
      continue;
    }
    const std::size_t mark = stem.find(kInvitationMark);
    Entry entry{file.path(), std::move(*identity), mark == std::string::npos ? "" : stem.substr(mark + 1)};
    if (is_wanted(entry)) found.push_back(std::move(entry));
  }
  std::ranges::sort(found, [](const Entry& a, const Entry& b) {
    return std::pair(a.identity.subject().role, a.path) < std::pair(b.identity.subject().role, b.path);
  });
  return found;
}

// A file keeps the name of the authority that it was made under; the identity in it may believe the one that followed.
Result<std::vector<IdentityStore::Entry>> IdentityStore::of_authority(const std::string& authority_hash) const {
  return find(
      [&](const std::string& file) { return file.starts_with(authority_hash.substr(0, kHashDigitsInName) + "."); },
      [&](const Entry& entry) { return entry.identity.believes(authority_hash); });
}

Result<std::vector<IdentityStore::Entry>> IdentityStore::all() const {
  return find([](const std::string&) { return true; }, [](const Entry&) { return true; });
}

Result<std::vector<IdentityStore::Entry>> IdentityStore::of_invitation(const std::string& id) const {
  return find([&](const std::string& file) { return file.ends_with(kInvitationMark + id); },
              [&](const Entry& entry) { return entry.invitation == id; });
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
