#include "mangrove/plan/profile_cache.h"

#include <fmt/format.h>

#include "mangrove/base/log.h"
#include "mangrove/data/sha256.h"

namespace mangrove::plan {
namespace {

constexpr std::string_view kSeal = "# SHA-256 of its key and of what follows: ";

/// Its text, each part on a line.
std::string text_of(const ProfileKey& key) {
  return fmt::format("{}\n{}\n{}\nbatch {}\nthreads {}\ntraining {}\nfused {}\n", key.network, key.device, key.backend,
                     key.batch, key.threads, key.training, key.fused);
}

std::string name_of(const ProfileKey& key) {
  return data::sha256(text_of(key));
}

/// The first line of the file: what it is kept for, and that it is whole.
std::string seal(const ProfileKey& key, std::string_view yaml) {
  return std::string(kSeal) + data::sha256(text_of(key) + std::string(yaml)) + "\n";
}

}  // namespace

ProfileCache::ProfileCache(const fs::path& data_folder, Bytes most)
    : files_(data_folder.empty() ? fs::path() : data_folder / "profiles", ".yaml", most) {}

fs::path ProfileCache::path(const ProfileKey& key) const {
  return files_.path(name_of(key));
}

std::optional<Profile> ProfileCache::find(const ProfileKey& key) const {
  const std::optional<std::string> content = files_.find(name_of(key));
  if (!content) return std::nullopt;
  const std::size_t first_line = std::min(content->size(), content->find('\n') + 1);
  const std::string_view yaml = std::string_view(*content).substr(first_line);
  if (content->substr(0, first_line) == seal(key, yaml)) {
    Result<Profile> profile = parse_profile(*content, path(key));
    if (profile.ok()) return std::move(*profile);
  }
  log_warn("a kept profile is damaged or of something else, and is measured anew", {{"file", path(key).string()}});
  files_.remove(name_of(key));
  return std::nullopt;
}

Status ProfileCache::keep(const ProfileKey& key, const Profile& profile) const {
  const std::string yaml = to_yaml(profile);
  return files_.keep(name_of(key), seal(key, yaml) + yaml);
}

}  // namespace mangrove::plan
