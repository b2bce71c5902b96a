#include "mangrove/data/csv_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "mangrove/base/suggestion.h"
#include "mangrove/base/units.h"
#include "mangrove/data/file_bytes.h"

namespace mangrove::data {
namespace {

/// Without white space around it.
std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

void split_fields(std::string_view line, std::vector<std::string_view>& fields) {
  fields.clear();
  while (true) {
    const std::size_t comma = line.find(',');
    fields.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return;
    line.remove_prefix(comma + 1);
  }
}

enum class Role { channel, label, group, skipped };

/// What each column is. errors: invalid_argument: a column that is not there.
Result<std::vector<Role>> assign_roles(const std::vector<std::string>& names, const CsvColumns& columns) {
  std::vector<Role> roles(names.size(), Role::channel);
  const auto assign = [&](const std::string& name, Role role) -> Status {
    const auto found = std::ranges::find(names, name);
    if (found == names.end())
      return make_error(Code::invalid_argument,
                        "no column '" + name + "'" + (columns.quotes ? suggestion(name, names) : ""));
    roles[static_cast<std::size_t>(found - names.begin())] = role;
    return {};
  };
  for (const std::string& name : columns.skip) MG_RETURN_IF_ERROR(assign(name, Role::skipped));
  if (!columns.group.empty()) MG_RETURN_IF_ERROR(assign(columns.group, Role::group));
  MG_RETURN_IF_ERROR(assign(columns.label, Role::label));
  if (std::ranges::count(roles, Role::channel) == 0)
    return make_error(Code::data_loss, "no columns of channels beside '" + columns.label + "'");
  return roles;
}

std::optional<float> parse_value(std::string_view field) {
  double number = 0;
  const auto [end, code] = std::from_chars(field.data(), field.data() + field.size(), number);
  if (code != std::errc() || end != field.data() + field.size()) return std::nullopt;
  const auto value = static_cast<float>(number);
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// Adds one line. errors: without the number of the line.
Status add_row(const std::vector<std::string_view>& fields, const std::vector<std::string>& names,
               const std::vector<Role>& roles, bool quotes, CsvTable& table) {
  const auto column = [&](std::size_t i) {
    return "column " + (quotes ? "'" + names[i] + "'" : std::to_string(i + 1));
  };
  if (fields.size() != roles.size())
    return make_error(Code::data_loss,
                      std::to_string(fields.size()) + " fields found, " + std::to_string(roles.size()) + " expected");
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (roles[i] == Role::skipped) continue;
    if (roles[i] == Role::label) {
      if (fields[i].empty()) return make_error(Code::data_loss, column(i) + " is empty");
      table.labels.emplace_back(fields[i]);
    } else if (roles[i] == Role::group) {
      table.groups.emplace_back(fields[i]);
    } else {
      const auto value = parse_value(fields[i]);
      if (!value)
        return make_error(Code::data_loss,
                          column(i) + ": " + (quotes ? "'" + std::string(fields[i].substr(0, 40)) + "'" : "the value") +
                              " is not a finite number");
      table.values.push_back(*value);
    }
  }
  return {};
}

/// Reads the lines of a file, a block of the file at a time.
class LineReader {
 public:
  explicit LineReader(const FileBytes& file) : file_(file) {}

  /// The next line, without its end; valid until the next call. Nothing: there are no more lines.
  /// errors: those of FileBytes::copy; data_loss (a line without an end).
  Result<std::optional<std::string_view>> next() {
    std::size_t searched = begin_;
    while (true) {
      const std::size_t end = buffer_.find('\n', searched);
      if (end != std::string::npos) {
        const std::string_view line = std::string_view(buffer_).substr(begin_, end - begin_);
        begin_ = end + 1;
        return std::optional(line);
      }
      if (read_ == file_.size()) break;
      if (buffer_.size() - begin_ > kLongest)
        return make_error(Code::data_loss, "a line of more than " + format_bytes(kLongest));
      buffer_.erase(0, begin_);
      begin_ = 0;
      searched = buffer_.size();
      MG_TRY(const std::string block, file_.part(read_, std::min(kBlock, file_.size() - read_)));
      buffer_ += block;
      read_ += block.size();
    }
    const std::string_view rest = std::string_view(buffer_).substr(begin_);
    begin_ = buffer_.size();
    return rest.empty() ? std::nullopt : std::optional(rest);
  }

 private:
  static constexpr std::size_t kBlock = 1 << 20, kLongest = 16 << 20;

  const FileBytes& file_;
  std::string buffer_;
  std::size_t begin_ = 0;  // of the part of the buffer that was not returned yet
  std::size_t read_ = 0;   // bytes of the file that were read
};

Result<CsvTable> parse(const FileBytes& file, const CsvColumns& columns) {
  CsvTable table;
  std::vector<std::string> names;
  std::vector<Role> roles;
  std::vector<std::string_view> fields;
  LineReader lines(file);
  for (std::size_t number = 1;; ++number) {
    MG_TRY(const std::optional<std::string_view> whole, lines.next());
    if (!whole) break;
    const std::string_view line = trimmed(*whole);
    if (line.empty()) continue;
    split_fields(line, fields);
    if (names.empty()) {
      names.assign(fields.begin(), fields.end());
      MG_TRY(roles, assign_roles(names, columns));
      continue;
    }
    MG_RETURN_IF_ERROR(add_row(fields, names, roles, columns.quotes, table).context("line " + std::to_string(number)));
  }
  if (table.rows() == 0)
    return make_error(Code::data_loss, "no rows: expected a line of column names, then one line per instant");
  for (std::size_t i = 0; i < names.size(); ++i)
    if (roles[i] == Role::channel) table.channels.push_back(names[i]);
  return table;
}

}  // namespace

Result<CsvTable> CsvTable::load(const fs::path& path, const CsvColumns& columns, const FileOpener& open) {
  MG_TRY(const FileBytes file, open(path));
  return parse(file, columns).context(path.string());
}

}  // namespace mangrove::data
