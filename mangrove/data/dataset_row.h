#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "mangrove/data/dataset.h"
#include "mangrove/data/download.h"
#include "mangrove/data/spec.h"

/// All data sets and kinds of files, in the order of their names. Each is the name of a function that makes its row. It
/// is in the file of the data set.
#define MG_DATASETS \
  cifar10, cifar10_jpeg, cifar10_lossless, cifar100, clips, csv, fashion, folder, glyphs, idx, leaves, mnist, shards

namespace mangrove::data {

using OpenedDataset = Result<std::shared_ptr<const Dataset>>;  // null: there is no such split

/// A row of the table: what the program must know about a data set.
struct DatasetRow {
  DatasetInfo info;
  /// errors: as open_dataset.
  OpenedDataset (*open)(const DatasetSpec& spec, Split split, const DataFolder& folder);
  std::string_view folder = {};          // where the data folder has it; "": it needs no files, or has a PATH
  const RemoteDataset* files = nullptr;  // null: cannot be downloaded
  std::string_view options = {};         // besides those of all data sets, with a space between them
  bool carves = false;                   // takes validation= and test= itself
};

/// For DatasetRow::open of a data set without options: `open` reads it in the data folder.
template <OpenedDataset open(Split, const fs::path&)>
OpenedDataset open_by_name(const DatasetSpec&, Split split, const DataFolder& folder) {
  return open(split, folder.path());
}

/// For DatasetRow::open of a data set that the program draws. It has no validation split.
template <std::shared_ptr<const Dataset> draw(Split, std::uint64_t)>
OpenedDataset open_drawn(const DatasetSpec&, Split split, const DataFolder&) {
  if (split == Split::validation) return std::shared_ptr<const Dataset>();
  return draw(split, /*seed=*/1);
}

namespace rows {

using MakeRow = DatasetRow();
MakeRow MG_DATASETS;
inline constexpr MakeRow* kAll[] = {MG_DATASETS};

}  // namespace rows
}  // namespace mangrove::data
