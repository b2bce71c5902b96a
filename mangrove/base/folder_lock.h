#pragma once

#include <utility>

#include "mangrove/base/file.h"
#include "mangrove/base/result.h"

namespace mangrove {

/// A folder that this process has for itself as long as this lives: so what a killed process has left can be told from
/// what another works with. The system ends the lock with the process.
class FolderLock {
 public:
  /// errors: unavailable (another has it, and `waits` is false); those of opening the folder.
  static Result<FolderLock> take(const fs::path& folder, bool waits);
  FolderLock(FolderLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

 private:
  explicit FolderLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace mangrove
