#pragma once

#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "mangrove/base/file.h"
#include "mangrove/base/units.h"
#include "mangrove/data/url.h"

namespace mangrove::data {

/// A file of a data set that others publish.
struct RemoteFile {
  std::string_view name;    // unpacked; mirrors hold it with .gz behind its name, or in the archive
  std::string_view sha256;  // of the unpacked file; "": not known, the archive's says it all
  Bytes bytes;              // of the unpacked file; 0: not known
  Bytes gzip_bytes;         // about what has to be downloaded; 0: it is in the archive
};

/// A .tar.gz with all files of a data set in a folder of any name.
struct RemoteArchive {
  std::string_view name;
  std::string_view sha256;
  Bytes bytes;
};

/// Where a data set is published. A data set is a row like this one, and its reader.
struct RemoteDataset {
  std::string_view name;  // also the folder in the data folder
  std::span<const RemoteFile> files;
  std::span<const std::string_view> mirrors;  // URLs, with / at the end, in the order in which they are tried
  RemoteArchive archive = {};                 // without a name where mirrors hold the files one by one
};

/// Told now and then how much of a download is done.
using DownloadProgress = std::function<void(Bytes done, Bytes total)>;

/// Puts the files of a data set into folder/<name>/, unpacked, and leaves those alone that are there and right. A file
/// appears whole or not at all. An archive is held in memory, with its content, while it is unpacked.
/// errors: unavailable (no mirror could be reached), data_loss (what a mirror sent is not the file that was published),
/// cancelled (`stop`), permission_denied, resource_exhausted (disk); messages name the data set, file and mirrors.
Status fetch_files(const RemoteDataset& dataset, const fs::path& folder, const DownloadProgress& progress,
                   std::stop_token stop, const UrlOptions& options = {});

/// fetch_files for a data set that open_dataset knows, in a folder made by data_folder(). Nothing to do for those that
/// need no files, or are there and cannot be downloaded. errors: also not_found (unknown name, with the nearest known
/// one; cannot be downloaded).
Status fetch_dataset(std::string_view spec, const fs::path& folder, const DownloadProgress& progress,
                     std::stop_token stop);

/// Where the file is in the folder: as `name`, or else as `name`.gz.
std::optional<fs::path> local_file(const fs::path& folder, std::string_view name);

}  // namespace mangrove::data
