#pragma once

#include <optional>
#include <string>

#include "mangrove/base/file_cache.h"
#include "mangrove/plan/profile.h"

namespace mangrove::plan {

/// The conditions for which a profile is valid.
struct ProfileKey {
  std::string network;  // SHA-256 of the ONNX file, as boards hold it
  std::string device;   // its description: see job::Device
  std::string backend;
  std::int64_t batch = 1, threads = 1;
  bool training = false;
  bool fused = true;  // CompileOptions::fuse
};

/// Profiles that were measured on this device, kept in the folder `profiles` of its data folder beside its networks.
/// threads: one at a time.
class ProfileCache {
 public:
  static constexpr Bytes kMost = 50'000'000;

  /// data_folder: if empty, nothing is kept. See FileCache.
  explicit ProfileCache(const fs::path& data_folder, Bytes most = kMost);

  fs::path path(const ProfileKey& key) const;
  /// The profile for this key. Nothing: it is not there. A file that is damaged or belongs to another key is removed,
  /// with a warning.
  std::optional<Profile> find(const ProfileKey& key) const;
  /// errors: those of FileCache::keep.
  Status keep(const ProfileKey& key, const Profile& profile) const;

 private:
  const FileCache files_;
};

}  // namespace mangrove::plan
