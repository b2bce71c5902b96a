#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/serve/model_options.h"

namespace mangrove::serve {

/// errors: invalid_argument: a model's name has 1 to 128 of the characters a-z A-Z 0-9 . _ - and begins with no point,
/// so that it is no path.
Status check_model_name(const std::string& name);

/// Where the versions of a model come from.
struct ModelSource {
  ModelOptions options;
  /// FOLDER/VERSION/model.onnx, with a whole number from 1 as version, and perhaps FOLDER/labels.txt with a class name
  /// on each line, as Triton's model repository has them. Empty: the only one is options.file.
  fs::path folder = {};
};

/// What tells that a file was changed, or another was put in its place.
struct FileState {
  std::uint64_t inode = 0;
  std::int64_t written = 0;  // nanoseconds since 1970
  Bytes size = 0;
  bool operator==(const FileState&) const = default;
};

/// The newest version of a model on disk.
struct FoundModel {
  ModelOptions options;                 // with its file
  std::optional<std::int64_t> version;  // as its folder is called
  FileState state;
};
/// errors: not_found (no file, or no folder with a version: says what is expected).
Result<FoundModel> find_newest(const ModelSource& source);

/// Writes the network of a version into the model's folder: all of it is there at once.
/// errors: already_exists (there is a folder of this version), those of make_writable_folder() and
/// write_private_file().
Status keep_version(const fs::path& folder, std::int64_t version, std::string_view network);

/// The names of the models in a repository's folder, sorted: of its folders that have a version.
/// errors: not_found (no such folder), invalid_argument (a name: see check_model_name).
Result<std::vector<std::string>> models_in(const fs::path& repository);

}  // namespace mangrove::serve
