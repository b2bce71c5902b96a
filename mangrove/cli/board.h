#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/units.h"

namespace mangrove::cli {

/// What a machine says of itself. Nothing in it names the machine or its owner: no host name, serial number or address.
/// What the machine does not say is left out, and so is what is no text, or too long to be true.
struct Board {
  std::optional<std::string> model;                   // of the board or computer: "Raspberry Pi 4 Model B Rev 1.4"
  std::optional<std::string> processor;               // "Cortex-A72"; cores of several kinds: "Cortex-A53 + Cortex-A73"
  std::string architecture;                           // as the kernel calls it: "aarch64"
  int cores = 1;                                      // of the machine
  double usable_cores = 1;                            // cores' worth of time that this process may use
  std::vector<std::string> features;                  // of the processor, those that kernels are written for
  std::optional<double> max_clock_hz;                 // of the fastest core
  std::optional<std::string> governor, clock_driver;  // that set the clock
  std::optional<Bytes> memory;                        // that this process may use
  std::optional<std::string> kernel, operating_system;

  static void fields(auto& self, auto& field) {
    field("model", self.model);
    field("processor", self.processor);
    field("architecture", self.architecture);
    field("cores", self.cores);
    field("usable_cores", self.usable_cores);
    field("features", self.features);
    field("max_clock_hz", self.max_clock_hz);
    field("governor", self.governor);
    field("clock_driver", self.clock_driver);
    field("memory", self.memory);
    field("kernel", self.kernel);
    field("operating_system", self.operating_system);
  }
};

/// root: where /proc, /sys and /etc are, for tests. At most 64 KiB of each file are read.
Board read_board(const fs::path& root = "/");

/// What changes while a board computes.
struct BoardState {
  std::optional<double> temperature_c;         // of the hottest thermal zone
  std::optional<std::uint32_t> firmware_bits;  // of a Raspberry Pi: why its clock is, or was since it started, lowered
  std::optional<bool> is_cooled;               // the kernel lowers the clock because of the temperature
};

/// root: as in read_board.
BoardState read_board_state(const fs::path& root = "/");

/// Why the clock is lower now than it could be, or was since `before`, in no order that matters: under_voltage,
/// clock_capped, throttled, temperature_limit, cooling. Nothing where the machine does not say.
std::optional<std::vector<std::string>> throttling(const BoardState& before, const BoardState& now);

/// The load average of the last minute: how many threads computed or waited for a core or a disk.
std::optional<double> load_average(const fs::path& root = "/");

}  // namespace mangrove::cli
