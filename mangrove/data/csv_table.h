#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/data/file_bytes.h"

namespace mangrove::data {

/// Which columns of a CSV file are what.
struct CsvColumns {
  std::string label = "label";
  std::string group;              // "": none
  std::vector<std::string> skip;  // neither channels nor labels, e.g. a time stamp
  bool quotes = true;             // whether errors may quote the file; must be false if others may read them
};

/// The rows of a CSV file of sensor readings: a line of column names, then one line per instant, fields separated by
/// commas, without quotes. All columns but the label, the group and the skipped are channels, of finite numbers.
struct CsvTable {
  std::vector<std::string> channels;  // their names
  std::vector<float> values;          // [rows, channels]
  std::vector<std::string> labels;    // of each row, as written
  std::vector<std::string> groups;    // of each row; empty where there is no such column

  std::size_t rows() const { return labels.size(); }

  /// errors: not_found, permission_denied; invalid_argument (no such column: names the nearest); data_loss (no rows, no
  /// channels, too few or too many fields, not a number: names line and column).
  static Result<CsvTable> load(const fs::path& path, const CsvColumns& columns, const FileOpener& open);
};

}  // namespace mangrove::data
