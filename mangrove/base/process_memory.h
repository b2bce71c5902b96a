#pragma once

#include <cstddef>
#include <span>

#include "mangrove/base/file.h"
#include "mangrove/base/units.h"

namespace mangrove {

/// Memory of this process now, resident in RAM; 0 where the system does not say.
Bytes resident_memory();
/// The part of resident_memory() that the system cannot take back while the process works. Pages of files can be read
/// again, so at most 16 MB of them count, for the code that is running. 0 where the system does not say.
Bytes needed_memory();
/// The most that resident_memory() was since the process began.
Bytes peak_resident_memory();
/// Gives the system back what was allocated and freed since, where the C library can do so. cost: a millisecond or so.
void release_freed_memory();

/// Takes whole pages of this memory, all of which is to be written, from the system at once; what they hold stays. It
/// costs a fraction of taking them one by one, as each is first written, would. A wish: older systems ignore it.
void take_pages(std::span<std::byte> memory);
/// Gives the system back whole pages of this memory, which holds nothing but zeros; it is read as zeros as before.
void release_zeros(std::span<std::byte> memory);

/// How much memory this process may use: the least of the machine's RAM and the limits of its control groups (v1 and
/// v2, of every level above it). 0 where the system does not say.
/// `root`: where /proc and /sys are, for tests.
Bytes memory_limit(const fs::path& root = "/");

}  // namespace mangrove
