#pragma once

#include "mangrove/base/file.h"

namespace mangrove::data {

/// As ::open() does, but no part of the path may be a link, so the file is where the path says, whoever changes links
/// meanwhile. path: absolute, without "." and "..". Returns a descriptor; -1: errno says why, ELOOP or ENOTDIR for a
/// link.
int open_without_links(const fs::path& path, int flags);
/// The same for kernels before Linux 5.6, which have no openat2(): opens one folder after the other.
int walk_without_links(const fs::path& path, int flags);

}  // namespace mangrove::data
