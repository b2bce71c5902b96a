#include "mangrove/cli/board.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>

#include "mangrove/base/temperature.h"
#include "mangrove/base/utf8.h"
#include "mangrove/job/machine.h"

namespace mangrove::cli {
namespace {

constexpr std::size_t kMostRead = 64 << 10;  // of a file
constexpr std::size_t kLongestName = 200;    // of a processor, a board ...
constexpr std::size_t kMostFolders = 1024;   // of cooling devices ...

/// The start of a file; "" where it cannot be read.
std::string start_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostRead, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

/// A text of one line, without space around it and without the zero byte that ends texts of the device tree. Nothing if
/// that is empty, longer than a name is, or no printable text.
std::optional<std::string> as_name(std::string_view text) {
  constexpr std::string_view kAround = std::string_view(" \t\r\n\0", 5);
  const std::size_t first = text.find_first_not_of(kAround);
  if (first == std::string_view::npos) return {};
  text = text.substr(first, text.find_last_not_of(kAround) - first + 1);
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  if (text.size() > kLongestName || !is_utf8(text) || std::ranges::any_of(text, is_control)) return {};
  return std::string(text);
}

std::optional<std::string> name_in(const fs::path& path) {
  return as_name(start_of(path));
}

/// The whole number that a text begins with.
template <class Number>
std::optional<Number> as_number(std::string_view text, int base = 10) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc()) return {};
  return value;
}

/// Calls visit(what is behind the colon) for each line "KEY : value".
template <class Visit>
void for_each_value(const std::string& text, std::string_view key, Visit visit) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const auto name = as_name(std::string_view(line).substr(0, colon));
    if (name && *name == key) visit(std::string_view(line).substr(colon + 1));
  }
}

std::optional<std::string> first_value(const std::string& text, std::string_view key) {
  std::optional<std::string> found;
  for_each_value(text, key, [&](std::string_view value) {
    if (!found) found = as_name(value);
  });
  return found;
}

/// The folders below `folder` whose names begin so, in the order of their names.
std::vector<fs::path> folders(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end && found.size() < kMostFolders;
       entry.increment(code))
    if (entry->path().filename().string().starts_with(prefix)) found.push_back(entry->path());
  std::ranges::sort(found);
  return found;
}

/// The words without those that are there before, as "a + b". Nothing of no words.
std::optional<std::string> joined_kinds(const std::vector<std::string>& words) {
  std::vector<std::string> kinds;
  for (const std::string& word : words)
    if (std::ranges::find(kinds, word) == kinds.end()) kinds.push_back(word);
  if (kinds.empty()) return {};
  return fmt::format("{}", fmt::join(kinds, " + "));
}

/// Of a core by Arm; /proc/cpuinfo has its part number only. Source: Arm's technical reference manuals, MIDR_EL1.
std::string arm_core(std::uint32_t part) {
  struct Row {
    std::uint32_t part;
    const char* name;
  };
  constexpr std::array kRows = {Row{0xd03, "Cortex-A53"}, Row{0xd04, "Cortex-A35"},  Row{0xd05, "Cortex-A55"},
                                Row{0xd07, "Cortex-A57"}, Row{0xd08, "Cortex-A72"},  Row{0xd09, "Cortex-A73"},
                                Row{0xd0a, "Cortex-A75"}, Row{0xd0b, "Cortex-A76"},  Row{0xd0c, "Neoverse N1"},
                                Row{0xd0d, "Cortex-A77"}, Row{0xd40, "Neoverse V1"}, Row{0xd41, "Cortex-A78"},
                                Row{0xd49, "Neoverse N2"}};
  const auto found = std::ranges::find(kRows, part, &Row::part);
  return found == kRows.end() ? fmt::format("Arm part 0x{:03x}", part) : found->name;
}

/// An x86 processor has its name in cpuinfo. Of a core by Arm (implementer 0x41) its part has one here.
std::optional<std::string> processor_model(const std::string& cpuinfo) {
  if (auto name = first_value(cpuinfo, "model name")) return name;
  const auto implementer = first_value(cpuinfo, "CPU implementer");
  if (!implementer || *implementer != "0x41") return {};
  std::vector<std::string> cores;
  for_each_value(cpuinfo, "CPU part", [&](std::string_view value) {
    const auto text = as_name(value);
    if (!text || !text->starts_with("0x")) return;
    if (const auto part = as_number<std::uint32_t>(std::string_view(*text).substr(2), 16))
      cores.push_back(arm_core(*part));
  });
  return joined_kinds(cores);
}

std::optional<std::string> board_model(const fs::path& root, const std::string& cpuinfo) {
  if (auto name = name_in(root / "proc/device-tree/model")) return name;
  if (auto name = first_value(cpuinfo, "Model")) return name;
  return name_in(root / "sys/class/dmi/id/product_name");
}

std::vector<std::string> known_features(const std::string& cpuinfo) {
  constexpr std::array<std::string_view, 10> kKnown = {"sse4_1", "avx",   "avx2", "fma",     "avx512f",
                                                       "neon",   "asimd", "fphp", "asimdhp", "asimddp"};
  std::string flags;
  for (const char* key : {"Features", "flags"})  // Arm, x86
    for_each_value(cpuinfo, key, [&](std::string_view value) {
      if (flags.empty()) flags = value;
    });
  std::istringstream words(flags);
  std::vector<std::string> found;
  for (std::string word; words >> word;)
    if (std::ranges::find(kKnown, word) != kKnown.end()) found.push_back(word);
  return found;
}

void read_clock(const fs::path& root, Board& board) {
  std::vector<std::string> governors, drivers;
  for (const fs::path& policy : folders(root / "sys/devices/system/cpu/cpufreq", "policy")) {
    const auto khz = as_number<std::int64_t>(start_of(policy / "cpuinfo_max_freq"));
    if (khz && *khz > 0) board.max_clock_hz = std::max(board.max_clock_hz.value_or(0), static_cast<double>(*khz) * 1e3);
    if (const auto name = name_in(policy / "scaling_governor")) governors.push_back(*name);
    if (const auto name = name_in(policy / "scaling_driver")) drivers.push_back(*name);
  }
  board.governor = joined_kinds(governors);
  board.clock_driver = joined_kinds(drivers);
}

/// PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
std::optional<std::string> operating_system_name(const fs::path& root) {
  constexpr std::string_view kKey = "PRETTY_NAME=";
  for (const char* path : {"etc/os-release", "usr/lib/os-release"}) {
    std::istringstream lines(start_of(root / path));
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with(kKey)) continue;
      line.erase(0, kKey.size());
      std::erase_if(line, [](char c) { return c == '"' || c == '\''; });
      return as_name(line);
    }
  }
  return {};
}

/// In .../soc/soc:firmware/get_throttled of a Raspberry Pi; "soc" may have an address behind it.
std::optional<std::uint32_t> firmware_throttling(const fs::path& root) {
  for (const fs::path& soc : folders(root / "sys/devices/platform", "soc"))
    for (const fs::path& device : folders(soc, "soc"))
      if (device.filename().string().ends_with(":firmware"))
        if (const auto text = name_in(device / "get_throttled"))
          return as_number<std::uint32_t>(text->starts_with("0x") ? text->substr(2) : *text, 16);
  return {};
}

std::optional<bool> cooling(const fs::path& root) {
  constexpr std::string_view kOfTheClock = "cpufreq";  // in the type; others are fans
  std::optional<bool> found;
  for (const fs::path& device : folders(root / "sys/class/thermal", "cooling_device")) {
    const auto type = name_in(device / "type");
    const auto state = as_number<std::int64_t>(start_of(device / "cur_state"));
    if (!type || type->find(kOfTheClock) == std::string::npos || !state) continue;
    found = found.value_or(false) || *state > 0;
  }
  return found;
}

}  // namespace

Board read_board(const fs::path& root) {
  const std::string cpuinfo = start_of(root / "proc/cpuinfo");
  const job::Machine machine(root);
  Board board;
  board.model = board_model(root, cpuinfo);
  board.processor = processor_model(cpuinfo);
  utsname names{};
  if (::uname(&names) == 0) board.architecture = names.machine;
  board.cores = machine.cores();
  board.usable_cores = machine.cpu_share();
  board.features = known_features(cpuinfo);
  read_clock(root, board);
  if (const Bytes memory = machine.memory(); memory > 0) board.memory = memory;
  board.kernel = name_in(root / "proc/sys/kernel/osrelease");
  board.operating_system = operating_system_name(root);
  return board;
}

BoardState read_board_state(const fs::path& root) {
  return {.temperature_c = hottest_reading(temperature_sensors(root)),
          .firmware_bits = firmware_throttling(root),
          .is_cooled = cooling(root)};
}

std::optional<std::vector<std::string>> throttling(const BoardState& before, const BoardState& now) {
  if (!now.firmware_bits && !now.is_cooled) return {};
  // bit i: it is so now; bit i + 16: it was so since the board started
  constexpr std::array kReasons = {"under_voltage", "clock_capped", "throttled", "temperature_limit"};
  constexpr int kSinceStart = 16;
  const std::uint32_t bits = now.firmware_bits.value_or(0), bits_before = before.firmware_bits.value_or(0);
  const std::uint32_t since = bits | ((bits & ~bits_before) >> kSinceStart);
  std::vector<std::string> found;
  for (std::size_t i = 0; i < kReasons.size(); ++i)
    if ((since >> i & 1) != 0) found.emplace_back(kReasons[i]);
  if (now.is_cooled.value_or(false)) found.emplace_back("cooling");
  const bool may_hide = bits_before >> kSinceStart != 0;  // what was so before is not told from what was so again
  if (found.empty() && may_hide) return {};
  return found;
}

std::optional<double> load_average(const fs::path& root) {
  std::istringstream text(start_of(root / "proc/loadavg"));
  double load = 0;
  if (!(text >> load) || load < 0) return {};
  return load;
}

}  // namespace mangrove::cli
