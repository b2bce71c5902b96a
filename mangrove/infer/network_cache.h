#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mangrove/base/file_cache.h"

namespace mangrove::infer {

/// The networks that this device has received, as ONNX files in a folder. Each file is named after its SHA-256.
/// threads: one at a time.
class NetworkCache {
 public:
  static constexpr Bytes kMost = 2'000'000'000;

  /// See FileCache.
  explicit NetworkCache(fs::path folder, Bytes most = kMost) : files_(std::move(folder), ".onnx", most) {}

  /// The network with this SHA-256. Nothing: it is not there. A file whose contents do not have its SHA-256 is removed.
  std::optional<std::string> find(const std::string& sha256) const;
  /// errors: those of FileCache::keep.
  Status keep(const std::string& sha256, std::string_view network) const { return files_.keep(sha256, network); }

 private:
  const FileCache files_;
};

}  // namespace mangrove::infer
