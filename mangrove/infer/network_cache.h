#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mangrove/base/file.h"
#include "mangrove/base/units.h"

namespace mangrove::infer {

/// Networks that this device was given, as ONNX files in a folder, each named after its SHA-256. They are kept until
/// the folder holds more than `most` bytes; then those go that were not used for longest. Processes may share it.
/// threads: one at a time.
class NetworkCache {
 public:
  static constexpr Bytes kMost = 2'000'000'000;

  /// folder: made when something is kept; empty: nothing is.
  explicit NetworkCache(fs::path folder, Bytes most = kMost) : folder_(std::move(folder)), most_(most) {}

  /// Nothing: it is not there. A file that is not what its name says is removed.
  std::optional<std::string> find(const std::string& sha256) const;
  /// One that is larger than all that may be kept is not. errors: those of writing.
  Status keep(const std::string& sha256, std::string_view network) const;

 private:
  fs::path path(const std::string& sha256) const { return folder_ / (sha256 + ".onnx"); }
  void make_room(Bytes bytes) const;

  const fs::path folder_;
  const Bytes most_;
};

}  // namespace mangrove::infer
