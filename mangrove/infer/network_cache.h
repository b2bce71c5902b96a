#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mangrove/base/file_cache.h"

namespace mangrove::infer {

/// What this device has received in a folder: networks as ONNX files, or weights. Each file is named after its SHA-256.
/// threads: one at a time.
class NetworkCache {
 public:
  static constexpr Bytes kMost = 2'000'000'000;

  /// See FileCache.
  NetworkCache(fs::path folder, std::string extension, Bytes most = kMost)
      : files_(std::move(folder), std::move(extension), most) {}

  /// The file with this SHA-256. Nothing: it is not there. A file whose contents do not have its SHA-256 is removed.
  std::optional<std::string> find(const std::string& sha256) const;
  /// errors: those of FileCache::keep.
  Status keep(const std::string& sha256, std::string_view content) const { return files_.keep(sha256, content); }

 private:
  const FileCache files_;
};

}  // namespace mangrove::infer
