#include "mangrove/data/csv_windows.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include "mangrove/data/csv_table.h"
#include "mangrove/data/dataset_row.h"

namespace mangrove::data {
namespace {

struct Window {
  std::uint32_t first_row;
  std::int32_t label;
};

class CsvWindows final : public Dataset {
 public:
  CsvWindows(CsvTable table, std::vector<Window> windows, std::vector<std::string> class_names, std::int64_t length)
      : table_(std::move(table)), windows_(std::move(windows)), class_names_(std::move(class_names)), length_(length) {}

  std::uint32_t size() const override { return static_cast<std::uint32_t>(windows_.size()); }
  Shape sample_shape() const override { return {static_cast<std::int64_t>(table_.channels.size()), length_}; }
  const std::vector<std::string>& class_names() const override { return class_names_; }
  std::int32_t label(std::uint32_t index) const override { return windows_[index].label; }

  Status read(std::uint32_t index, std::span<float> out) const override {
    const std::size_t channels = table_.channels.size(), length = static_cast<std::size_t>(length_);
    const float* row = table_.values.data() + windows_[index].first_row * channels;
    for (std::size_t t = 0; t < length; ++t)
      for (std::size_t c = 0; c < channels; ++c) out[c * length + t] = *row++;
    return {};
  }

 private:
  CsvTable table_;
  std::vector<Window> windows_;
  std::vector<std::string> class_names_;
  std::int64_t length_;
};

struct Options {
  CsvColumns columns;
  std::int64_t window, stride;
  double validation, test;  // shares of each recording
};

Result<Options> parse_options(const DatasetSpec& spec) {
  constexpr std::int64_t kMost = 1 << 20;
  Options options;
  MG_TRY(options.window, spec.whole_number("window", 128, 1, kMost));
  MG_TRY(options.stride, spec.whole_number("stride", options.window, 1, kMost));
  MG_TRY(options.validation, spec.number("validation", 0, 0, 0.9));
  MG_TRY(options.test, spec.number("test", 0, 0, 0.9));
  if (options.validation + options.test >= 1)
    return make_error(Code::invalid_argument, "options 'validation' and 'test' leave nothing to train with");
  options.columns.label = spec.option("label").value_or("label");
  options.columns.group = spec.option("group").value_or("");
  std::string skip = spec.option("skip").value_or("");
  while (!skip.empty()) {
    const std::size_t end = std::min(skip.find(';'), skip.size());
    options.columns.skip.push_back(skip.substr(0, end));
    skip.erase(0, end + 1);
  }
  return options;
}

/// The labels that occur, by number if all of them are whole numbers.
std::vector<std::string> find_classes(const CsvTable& table) {
  const std::set<std::string> distinct(table.labels.begin(), table.labels.end());
  std::vector<std::string> names(distinct.begin(), distinct.end());
  const auto number = [](const std::string& name) -> std::optional<std::int64_t> {
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), value);
    return code == std::errc() && end == name.data() + name.size() ? std::optional(value) : std::nullopt;
  };
  const auto is_number = [&](const std::string& name) { return number(name).has_value(); };
  if (std::ranges::all_of(names, is_number)) std::ranges::sort(names, {}, number);
  return names;
}

/// The part of a recording of `rows` rows that a split has: [first, last). Shares are rounded up to whole windows.
std::pair<std::int64_t, std::int64_t> part_of(Split split, std::int64_t rows, const Options& options) {
  const auto part = [&](double share) {
    const double windows = share * static_cast<double>(rows) / static_cast<double>(options.window);
    return static_cast<std::int64_t>(std::ceil(windows - 1e-9)) * options.window;
  };
  const std::int64_t validation_end = std::max<std::int64_t>(0, rows - part(options.test));
  const std::int64_t train_end = std::max<std::int64_t>(0, validation_end - part(options.validation));
  if (split == Split::train) return {0, train_end};
  if (split == Split::validation) return {train_end, validation_end};
  return {validation_end, rows};
}

Result<std::vector<Window>> cut(const CsvTable& table, Split split, const Options& options,
                                const std::vector<std::string>& classes) {
  std::vector<Window> windows;
  const auto same = [&](std::size_t a, std::size_t b) {
    return table.labels[a] == table.labels[b] && (table.groups.empty() || table.groups[a] == table.groups[b]);
  };
  for (std::size_t begin = 0, end = 0; begin < table.rows(); begin = end) {
    while (end < table.rows() && same(begin, end)) ++end;
    const auto found = std::ranges::find(classes, table.labels[begin]);
    if (found == classes.end())
      return make_error(Code::data_loss, "row " + std::to_string(begin + 1) + ": its label" +
                                             (options.columns.quotes ? " '" + table.labels[begin] + "'" : "") +
                                             " does not occur in the training file");
    const auto [first, last] = part_of(split, static_cast<std::int64_t>(end - begin), options);
    for (std::int64_t start = first; start + options.window <= last; start += options.stride)
      windows.push_back({static_cast<std::uint32_t>(begin + static_cast<std::size_t>(start)),
                         static_cast<std::int32_t>(found - classes.begin())});
  }
  if (windows.empty())
    return make_error(Code::data_loss, "no recording's part in this split is as long as a window of " +
                                           std::to_string(options.window) +
                                           " rows: choose a shorter window, or smaller shares for other splits");
  return windows;
}

/// The file of a folder that a split has for itself; "": it has none, or is the training split.
/// errors: invalid_argument (a share for a split that has its own file).
Result<fs::path> own_file(const fs::path& folder, Split split, const Options& options) {
  fs::path own;
  const auto look = [&](Split wanted, const char* option, double share, const char* name) -> Status {
    std::error_code ignored;
    if (!fs::is_regular_file(folder / name, ignored)) return {};
    if (split == wanted) own = folder / name;
    if (share == 0) return {};
    return make_error(Code::invalid_argument,
                      (folder / name).string() + " is this split already: leave the option '" + option + "' out");
  };
  MG_RETURN_IF_ERROR(look(Split::validation, "validation", options.validation, "val.csv"));
  MG_RETURN_IF_ERROR(look(Split::test, "test", options.test, "test.csv"));
  return own;
}

}  // namespace

Result<std::shared_ptr<const Dataset>> open_csv(const DatasetSpec& spec, Split split, const DataFolder& folder) {
  MG_TRY(Options options, parse_options(spec));
  options.columns.quotes = !folder.is_confined();
  MG_TRY(const fs::path path, folder.find(spec.path));
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored);
  const fs::path training = is_folder ? path / "train.csv" : path;
  MG_TRY(const fs::path own, is_folder ? own_file(path, split, options) : fs::path());
  if (!own.empty()) {
    options.validation = options.test = 0;
    split = Split::train;  // the whole file
  } else if ((split == Split::validation && options.validation == 0) || (split == Split::test && options.test == 0)) {
    return std::shared_ptr<const Dataset>();
  }
  const FileOpener open = folder.opener();
  const fs::path& file = own.empty() ? training : own;
  MG_TRY(CsvTable table, CsvTable::load(file, options.columns, open));
  std::vector<std::string> classes = find_classes(table);
  if (file != training) {
    MG_TRY(const CsvTable reference, CsvTable::load(training, options.columns, open));
    classes = find_classes(reference);
    if (reference.channels != table.channels)
      return make_error(Code::data_loss, file.string() + ": its columns are not those of " + training.string());
  }
  MG_TRY(auto windows, cut(table, split, options, classes).context(file.string()));
  return std::shared_ptr<const Dataset>(
      std::make_shared<CsvWindows>(std::move(table), std::move(windows), std::move(classes), options.window));
}

DatasetRow rows::csv() {
  return {.info = {"csv", "csv:PATH[,window=128][,stride=128][,label=label][,group=COLUMN][,skip=COLUMN;...]",
                   "windows of sensor channels from a CSV file", true},
          .open = &open_csv,
          .options = "window stride label group skip",
          .carves = true};
}

}  // namespace mangrove::data
