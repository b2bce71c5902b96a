#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mangrove/base/file.h"
#include "mangrove/base/units.h"

namespace mangrove {

/// Files of one kind in a folder, kept for later: until they come to more than `most` bytes; then those go that were
/// not used for longest. Processes may share the folder. threads: one at a time.
class FileCache {
 public:
  /// folder: made when something is kept; empty: nothing is. extension: of all of them, ".onnx".
  FileCache(fs::path folder, std::string extension, Bytes most)
      : folder_(std::move(folder)), extension_(std::move(extension)), most_(most) {}

  fs::path path(const std::string& name) const { return folder_ / (name + extension_); }
  /// The content of one, which is used now. Nothing: it is not there.
  std::optional<std::string> find(const std::string& name) const;
  /// One that is larger than all that may be kept is not. errors: those of writing.
  Status keep(const std::string& name, std::string_view content) const;
  void remove(const std::string& name) const;

 private:
  void make_room(Bytes bytes) const;

  const fs::path folder_;
  const std::string extension_;
  const Bytes most_;
};

}  // namespace mangrove
