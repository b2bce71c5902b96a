#pragma once

#include <sys/mount.h>

#include <fstream>
#include <string>

#include "tests/base/temporary_folder.h"

#include "mangrove/base/file.h"

namespace mangrove::testing {

/// A disk of so many bytes (a tmpfs), which root alone may make: is_there() says whether it is.
class SmallDisk {
 public:
  explicit SmallDisk(std::size_t bytes) {
    const std::string options = "size=" + std::to_string(bytes);
    is_there_ = ::mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, options.c_str()) == 0;
  }
  ~SmallDisk() {
    if (is_there_) ::umount2(folder_.path().c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool is_there() const { return is_there_; }
  fs::path operator/(const std::string& name) const { return folder_ / name; }
  /// Leaves so many bytes of it, by a file `filler`. Remove that to make room again.
  void fill(std::size_t bytes_left) const {
    const std::uintmax_t available = fs::space(folder_.path()).available;
    if (available > bytes_left)
      std::ofstream(*this / "filler", std::ios::app) << std::string(available - bytes_left, 'f');
  }

 private:
  TemporaryFolder folder_;
  bool is_there_ = false;
};

}  // namespace mangrove::testing
