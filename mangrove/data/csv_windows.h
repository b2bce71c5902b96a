#pragma once

#include "mangrove/data/dataset.h"
#include "mangrove/data/spec.h"

namespace mangrove::data {

/// csv:PATH[,window=128][,stride=128][,label=label][,group=COLUMN][,skip=COLUMN;COLUMN]: windows of sensor channels,
/// samples of [channels, window], from a CSV file (see csv_table.h) or a folder with train.csv and, where there are,
/// val.csv and test.csv.
///   window, stride  rows in a window, and from one window's start to the next one's; without `stride`, the window
///   label, group    columns; a window lies within a recording: rows in sequence with one label and one group
///   skip            columns to leave out
/// A split without a file of its own is there if validation=S or test=S gives it a share of the training file: of every
/// recording's time, rounded up to whole windows: training is first, then validation, then test, and no window is in
/// two of them. Classes are the labels of the training file in their order (by number, if all are whole numbers). Null
/// where there is no such split. errors: those of CsvTable::load; invalid_argument (options; a share for a split that
/// has a file), data_loss (a label that training has not; no recording as long as a window).
Result<std::shared_ptr<const Dataset>> open_csv(const DatasetSpec& spec, Split split, const DataFolder& folder);

}  // namespace mangrove::data
