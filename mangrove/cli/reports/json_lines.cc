#include "mangrove/cli/reports/json_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "mangrove/base/log.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestLine = 4 << 20;
constexpr std::uintmax_t kLargestObject = 64 << 20;
constexpr std::size_t kBlock = 64 << 10;

/// Puts lines together from the blocks of a file.
class Lines {
 public:
  explicit Lines(const std::function<void(const json&)>& take) : take_(take) {}

  void add(std::string_view block) {
    for (std::size_t newline = 0; (newline = block.find('\n')) != std::string_view::npos;) {
      extend(block.substr(0, newline));
      end_line();
      block.remove_prefix(newline + 1);
    }
    extend(block);
  }
  void end() {
    if (!line_.empty() || is_too_long_) end_line();
  }

  std::int64_t objects() const { return objects_; }
  std::int64_t unreadable() const { return unreadable_; }
  std::int64_t first_unreadable() const { return first_unreadable_; }

 private:
  void extend(std::string_view part) {
    is_too_long_ = is_too_long_ || line_.size() + part.size() > kLongestLine;
    if (is_too_long_) {
      line_.clear();
    } else {
      line_ += part;
    }
  }

  void end_line() {
    ++number_;
    const json parsed = is_too_long_ ? json() : json::parse(line_, nullptr, /*allow_exceptions=*/false);
    if (parsed.is_object()) {
      ++objects_;
      take_(parsed);
    } else if (unreadable_++ == 0) {
      first_unreadable_ = number_;
    }
    line_.clear();
    is_too_long_ = false;
  }

  const std::function<void(const json&)>& take_;
  std::string line_;
  bool is_too_long_ = false;
  std::int64_t number_ = 0, objects_ = 0, unreadable_ = 0, first_unreadable_ = 0;
};

}  // namespace

Status read_json_lines(const fs::path& path, const std::function<void(const json&)>& take) {
  MG_RETURN_IF_ERROR(InputFile::open(path));
  std::ifstream file(path, std::ios::binary);
  Lines lines(take);
  std::vector<char> block(kBlock);
  while (file) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    lines.add({block.data(), static_cast<std::size_t>(file.gcount())});
  }
  if (file.bad()) return make_error(Code::data_loss, path.string() + ": cannot read");
  lines.end();
  if (lines.objects() == 0 && lines.unreadable() > 0)
    return make_error(Code::data_loss, fmt::format("{}:{}: no line is a JSON object, as each should be", path.string(),
                                                   lines.first_unreadable()));
  if (lines.unreadable() > 0)
    log_warn("lines cannot be read and are left out",
             {{"file", path.string()}, {"lines", lines.unreadable()}, {"first", lines.first_unreadable()}});
  return {};
}

Result<json> read_json_object(const fs::path& path) {
  std::error_code unreadable;  // then reading says why
  if (const std::uintmax_t size = fs::file_size(path, unreadable); !unreadable && size > kLargestObject)
    return make_error(Code::resource_exhausted, path.string() + ": a result has at most 64 MiB");
  MG_TRY(const std::string text, read_file(path));
  try {
    json object = json::parse(text);
    if (object.is_object()) return object;
    return make_error(Code::data_loss, path.string() + ": expected a JSON object");
  } catch (const json::parse_error& error) {
    const std::size_t at = std::min(error.byte, text.size());
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    return make_error(Code::data_loss, fmt::format("{}:{}: expected a JSON object", path.string(), line));
  }
}

}  // namespace mangrove::cli
