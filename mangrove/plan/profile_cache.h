#pragma once

#include <optional>
#include <string>

#include "mangrove/base/file_cache.h"
#include "mangrove/plan/profile.h"

namespace mangrove::plan {

/// What a profile holds for.
struct ProfileKey {
  std::string network;  // SHA-256 of the ONNX file, as boards hold it
  std::string device;   // see this_device()
  std::string backend;
  std::int64_t batch = 1, threads = 1;
  bool training = false;
  bool fused = true;  // CompileOptions::fuse
};

/// The device that this process runs on, as far as its speed depends on it: name, processor, and the share of its cores
/// that the process may use. `root`: where /proc and /sys are, for tests.
std::string this_device(const fs::path& root = "/");

/// Profiles that were measured on this device, kept in the folder `profiles` of its data folder beside its networks.
/// threads: one at a time.
class ProfileCache {
 public:
  static constexpr Bytes kMost = 50'000'000;

  /// data_folder: empty: nothing is kept. See FileCache.
  explicit ProfileCache(const fs::path& data_folder, Bytes most = kMost);

  fs::path path(const ProfileKey& key) const;
  /// Nothing: it is not there. A file that is damaged, or kept for something else, is removed, with a warning.
  std::optional<Profile> find(const ProfileKey& key) const;
  /// errors: those of FileCache::keep.
  Status keep(const ProfileKey& key, const Profile& profile) const;

 private:
  const FileCache files_;
};

}  // namespace mangrove::plan
