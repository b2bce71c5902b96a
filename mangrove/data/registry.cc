#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <sstream>

#include "mangrove/base/format.h"
#include "mangrove/base/make_rows.h"
#include "mangrove/base/suggestion.h"
#include "mangrove/base/user_folders.h"
#include "mangrove/data/dataset.h"
#include "mangrove/data/dataset_row.h"
#include "mangrove/data/download.h"
#include "mangrove/data/relabelled.h"
#include "mangrove/data/spec.h"
#include "mangrove/data/subset.h"

namespace mangrove::data {
namespace {

const std::vector<DatasetRow>& table() {
  static const std::vector<DatasetRow> kRows = make_rows(rows::kAll);
  return kRows;
}

constexpr std::int64_t kMostPerClass = 1'000'000;
constexpr std::string_view kCommonOptions[] = {"validation", "test", "split-seed", "balance", "classes", "labels"};

struct Found {
  DatasetSpec spec;
  const DatasetRow* row;
};

Status check_options(const DatasetSpec& spec, const DatasetRow& row) {
  std::vector<std::string> known(std::begin(kCommonOptions), std::end(kCommonOptions));
  for (std::string_view rest = row.options; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    known.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  for (const auto& [key, value] : spec.options)
    if (std::ranges::find(known, key) == known.end())
      return make_error(Code::invalid_argument,
                        "data set '" + spec.name + "': unknown option '" + key + "'" + suggestion(key, known));
  return {};
}

Result<Found> find(std::string_view text) {
  MG_TRY(DatasetSpec spec, DatasetSpec::parse(text));
  const auto row = std::ranges::find(table(), spec.name, [](const DatasetRow& one) { return one.info.name; });
  if (row == table().end())
    return make_error(Code::not_found, "unknown data set '" + spec.name + "'" + suggestion(spec.name, dataset_names()));
  if (row->info.is_kind == spec.path.empty())
    return make_error(Code::invalid_argument,
                      row->info.is_kind
                          ? "data '" + std::string(text) + "': no path: expected " + std::string(row->info.usage)
                          : "data '" + std::string(text) + "': '" + spec.name +
                                "' takes no path; it is looked for in the data folder");
  MG_RETURN_IF_ERROR(check_options(spec, *row));
  return Found{std::move(spec), &*row};
}

/// What the options that all data sets have say.
struct CommonOptions {
  double validation, test;  // 0: not given; a share below 1, or a number of samples
  std::uint64_t seed;
  bool is_coarse;
  std::optional<std::size_t> balance;  // samples of each class; 0: as many as the largest has
};

Result<CommonOptions> common_options(const DatasetSpec& spec) {
  CommonOptions options{};
  MG_TRY(options.validation, spec.number("validation", 0, 0, 1e9));
  MG_TRY(options.test, spec.number("test", 0, 0, 1e9));
  MG_TRY(const std::int64_t seed, spec.whole_number("split-seed", 1, 0, std::int64_t{1} << 62));
  options.seed = static_cast<std::uint64_t>(seed);
  const std::string labels = spec.option("labels").value_or("fine");
  if (labels != "fine" && labels != "coarse")
    return make_error(Code::invalid_argument, "option 'labels': '" + labels + "' is not fine or coarse");
  options.is_coarse = labels == "coarse";
  const std::string balance = spec.option("balance").value_or("no");
  if (balance == "yes") options.balance = std::size_t{0};
  if (balance == "yes" || balance == "no") return options;
  const auto per_class = spec.whole_number("balance", 0, 1, kMostPerClass);
  if (!per_class.ok())
    return make_error(
        Code::invalid_argument,
        "option 'balance': '" + balance + "' is not yes, no or a number from 1 to " + format_count(kMostPerClass));
  options.balance = static_cast<std::size_t>(*per_class);
  return options;
}

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream list(text);
  for (std::string part; std::getline(list, part, separator);) parts.push_back(part);
  return parts;
}

const char* split_name(Split split) {
  return split == Split::train ? "training" : split == Split::validation ? "validation" : "test";
}

/// The split that validation= or test= carves from the training samples.
OpenedDataset open_carved(const Found& found, Split split, const CommonOptions& options, const DataFolder& folder) {
  MG_TRY(const auto all, found.row->open(found.spec, Split::train, folder));
  const auto share = [&](double given) { return given < 1 ? given : given / static_cast<double>(all->size()); };
  const double validation = share(options.validation), test = share(options.test);
  if (validation + test >= 1)
    return make_error(Code::invalid_argument,
                      "data '" + found.spec.text() + "': options 'validation' and 'test' leave " +
                          "nothing to train with of " + std::to_string(all->size()) + " samples");
  CarvedSplits splits = carve(*all, validation, test, options.seed);
  auto& indices = split == Split::train ? splits.train : split == Split::validation ? splits.validation : splits.test;
  if (indices.empty())
    return make_error(Code::invalid_argument, "data '" + found.spec.text() + "': the " + split_name(split) +
                                                  " split is empty: every class has too few samples for that share");
  return subset(all, std::move(indices));
}

/// The split as the files have it, or carved.
OpenedDataset open_split(const Found& found, Split split, const CommonOptions& options, const DataFolder& folder) {
  if (found.row->carves) return found.row->open(found.spec, split, folder);
  const auto check_not_there = [&](double given, Split own) -> Status {
    if (given == 0) return {};
    MG_TRY(const auto dataset, found.row->open(found.spec, own, folder));
    if (dataset == nullptr) return {};
    return make_error(Code::invalid_argument, "data '" + found.spec.text() + "': it has a " + split_name(own) +
                                                  " split of its own: leave the option out");
  };
  MG_RETURN_IF_ERROR(check_not_there(options.validation, Split::validation));
  MG_RETURN_IF_ERROR(check_not_there(options.test, Split::test));
  const bool carved = (split == Split::train && options.validation + options.test > 0) ||
                      (split == Split::validation && options.validation > 0) ||
                      (split == Split::test && options.test > 0);
  return carved ? open_carved(found, split, options, folder) : found.row->open(found.spec, split, folder);
}

}  // namespace

fs::path data_folder(const std::string& given) {
  if (!given.empty()) return given;
  if (const char* folder = std::getenv("MANGROVE_DATA"); folder != nullptr && *folder != '\0') return folder;
  return home_folder() / ".cache" / "mangrove" / "data";
}

std::span<const DatasetInfo> known_datasets() {
  static const std::vector<DatasetInfo> all = [] {
    std::vector<DatasetInfo> infos;
    for (const DatasetRow& row : table()) infos.push_back(row.info);
    return infos;
  }();
  return all;
}

std::span<const std::string> dataset_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const DatasetRow& row : table())
      if (!row.info.is_kind) all.emplace_back(row.info.name);
    return all;
  }();
  return names;
}

Result<std::string> dataset_summary(std::string_view spec) {
  MG_TRY(const Found found, find(spec));
  return std::string(found.row->info.summary);
}

Result<std::shared_ptr<const Dataset>> open_dataset(std::string_view spec, Split split, const DataFolder& folder) {
  MG_TRY(const Found found, find(spec));
  MG_TRY(const CommonOptions options, common_options(found.spec).context("data '" + std::string(spec) + "'"));
  MG_TRY(auto dataset, open_split(found, split, options, folder));
  if (dataset == nullptr)
    return make_error(Code::not_found, "data '" + std::string(spec) + "' has no " + split_name(split) +
                                           " split; carve one from its training samples with '" + std::string(spec) +
                                           (split == Split::test ? ",test=0.2'" : ",validation=0.1'"));
  if (options.is_coarse) {
    MG_TRY(dataset, coarse_classes(std::move(dataset)).context("data '" + std::string(spec) + "'"));
  }
  if (const auto classes = found.spec.option("classes")) {
    MG_TRY(dataset, some_classes(std::move(dataset), parts_of(*classes, ';'), !folder.is_confined())
                        .context("data '" + std::string(spec) + "'"));
  }
  if (options.balance && split == Split::train) dataset = balanced(std::move(dataset), *options.balance, options.seed);
  return dataset;
}

Result<bool> is_present(std::string_view spec, const fs::path& folder) {
  MG_TRY(const Found found, find(spec));
  std::error_code ignored;
  if (found.row->info.is_kind) {
    MG_TRY(const fs::path path, DataFolder(folder).find(found.spec.path));
    return fs::exists(path, ignored);
  }
  if (found.row->files == nullptr)
    return found.row->folder.empty() || fs::is_directory(folder / found.row->folder, ignored);
  return std::ranges::all_of(found.row->files->files, [&](const RemoteFile& file) {
    return local_file(folder / found.row->files->name, file.name).has_value();
  });
}

Status fetch_dataset(std::string_view spec, const fs::path& folder, const DownloadProgress& progress,
                     std::stop_token stop) {
  MG_TRY(const Found found, find(spec));
  if (found.row->files != nullptr) return fetch_files(*found.row->files, folder, progress, std::move(stop));
  MG_TRY(const bool present, is_present(spec, folder));
  if (present) return {};
  std::string place = "in " + (folder / found.row->folder).string();
  if (found.row->info.is_kind) {
    MG_TRY(const fs::path path, DataFolder(folder).find(found.spec.path));
    place = "at " + path.string();
  }
  return make_error(Code::not_found, "data '" + std::string(spec) + "' cannot be downloaded, and is not " + place);
}

}  // namespace mangrove::data
