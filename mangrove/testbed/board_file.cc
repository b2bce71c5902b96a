#include "mangrove/testbed/board_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "mangrove/base/config_file.h"

namespace mangrove::testbed {
namespace {

constexpr std::size_t kLongestName = 40;
constexpr double kMostCores = 1024;

struct Kind {
  Board board;
  std::int64_t count = 0;  // 0: one, named after its section

  Keys keys() {
    Keys keys;
    keys.add("count", count, "boards of this kind", 1, kMostBoards);
    keys.add("cpu", board.cpu, "share of a core", 0.05, kMostCores);
    keys.add_bytes("memory", board.memory, "memory limit, e.g. 1GB");
    keys.add_rate("rate", board.rate, "of the link, e.g. 100mbit");
    keys.add_seconds("delay", board.delay, "of the link, one way, e.g. 50ms");
    keys.add_seconds("jitter", board.jitter, "the delay varies by so much to both sides");
    keys.add("loss", board.loss, "share of the frames that are lost", 0, 1);
    return keys;
  }
};

Status check_name(const std::string& name) {
  const bool fits = !name.empty() && name.size() <= kLongestName && name.front() != '-' && name.back() != '-' &&
                    std::all_of(name.begin(), name.end(),
                                [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
  if (fits) return {};
  return make_error(Code::invalid_argument,
                    fmt::format("'{}' is not a name for a board: it needs lower-case letters, digits and dashes, at "
                                "most {}",
                                name, kLongestName));
}

Status check_board(const Board& board) {
  constexpr Bytes kLeastMemory = MiB(16);
  constexpr BytesPerSecond kLeastRate = 1000;
  constexpr Seconds kLongestDelay = 60;
  if (board.memory != 0 && board.memory < kLeastMemory)
    return make_error(Code::invalid_argument, "key 'memory': no node starts in less than 16MiB");
  if (board.rate != 0 && board.rate < kLeastRate)
    return make_error(Code::invalid_argument, "key 'rate': a link has at least 8kbit");
  if (board.delay > kLongestDelay || board.jitter > kLongestDelay)
    return make_error(Code::invalid_argument, "keys 'delay' and 'jitter': at most 60s");
  return {};
}

}  // namespace

Result<std::vector<Board>> load_boards(const fs::path& path) {
  MG_TRY(const ConfigFile file, ConfigFile::load(path, {"board file", {}, "pi"}));
  MG_RETURN_IF_ERROR(file.check_common(Kind().keys().names()));
  std::vector<Board> boards;
  std::set<std::string> names;
  for (const ConfigFile::Section& section : file.sections()) {
    const std::string where = file.where(section.line);
    Kind kind;
    const Keys keys = kind.keys();
    if (keys.find(section.name) != nullptr)
      return make_error(Code::invalid_argument, where + ": key '" + section.name + "' needs a single value");
    MG_RETURN_IF_ERROR(file.apply(section, keys));
    MG_RETURN_IF_ERROR(check_board(kind.board).context(where));
    for (std::int64_t i = 1; i <= std::max<std::int64_t>(kind.count, 1); ++i) {
      kind.board.name = kind.count == 0 ? section.name : fmt::format("{}-{}", section.name, i);
      MG_RETURN_IF_ERROR(check_name(kind.board.name).context(where));
      if (!names.insert(kind.board.name).second)
        return make_error(Code::invalid_argument, where + ": there is a board '" + kind.board.name + "' already");
      boards.push_back(kind.board);
    }
  }
  if (boards.size() > kMostBoards)
    return make_error(Code::invalid_argument, fmt::format("{}: {} boards: at most {} make a testbed", path.string(),
                                                          boards.size(), kMostBoards));
  return boards;
}

}  // namespace mangrove::testbed
