#pragma once

#include <concepts>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/data/file_bytes.h"

namespace mangrove::data {

// Folders in the data folder in which jobs leave something for the next job: shards that came from the cluster, and
// networks. They are not data of the owner, so jobs of others cannot name them.
constexpr const char* kFetchedFolder = "fetched";
constexpr const char* kNetworksFolder = "networks";

/// The folder of a device's data sets, and what else on the device a data set may be read from.
/// threads: any thread may call any method.
class DataFolder {
 public:
  DataFolder() = default;
  /// A folder for the user's own commands, which may open every path.
  template <std::convertible_to<fs::path> Path>
  requires(!std::same_as<std::remove_cvref_t<Path>, DataFolder>) DataFolder(Path&& path)
      : path_(std::forward<Path>(path)) {}
  /// A folder for a process that takes jobs of others. Only what is below the folder, registered in it (see
  /// register_data) or below one of `allowed` is opened. "/" in `allowed` allows every path.
  static DataFolder confined(fs::path path, std::vector<fs::path> allowed);

  const fs::path& path() const { return path_; }
  /// Whether the process takes jobs of others. Errors must then not quote what files hold.
  bool is_confined() const { return is_confined_; }

  /// The file or folder that the path of a spec means. A relative path is looked for in the working directory, in this
  /// folder and among the registered names, in this order; if it is nowhere, it is taken as below this folder.
  /// errors: permission_denied (confined: the path, or a link on it or below it, leads to a place that is not allowed,
  /// or to what other jobs have left; the message does not tell whether something is there).
  Result<fs::path> find(const std::string& path) const;
  /// Opens files at and below what find() returned. Somebody may put a link there after find() has looked; so in a
  /// confined folder, an opener looks again where each path leads, and then opens that place without following links.
  /// errors of the opener: those of FileBytes::open(); permission_denied (the path leads to a place that find() would
  /// refuse).
  FileOpener opener() const;

 private:
  Result<fs::path> find_confined(const std::string& path) const;

  fs::path path_;
  std::vector<fs::path> allowed_;
  bool is_confined_ = false;
};

/// A file or folder that the owner of a device has opened to jobs, under a name that the owner has chosen.
struct RegisteredData {
  std::string name;
  fs::path path;  // absolute
};

/// Makes `name` stand for `path`, a file or folder, in the paths of specs: csv:walks, folder:walks/2024. The name is
/// kept in the data folder as a link, and replaces an older one of the same name.
/// errors: invalid_argument (the name has more than 64 characters, or others than letters, digits, '-', '_' and '.');
/// not_found (nothing is at `path`); those of writing to the folder.
Status register_data(const fs::path& folder, const std::string& name, const fs::path& path);
/// Removes a registered name. errors: not_found (no such name), those of writing to the folder.
Status unregister_data(const fs::path& folder, const std::string& name);
/// All registered names of a data folder, in alphabetical order.
std::vector<RegisteredData> registered_data(const fs::path& folder);

}  // namespace mangrove::data
