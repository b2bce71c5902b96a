#pragma once

#include <concepts>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/base/file.h"

namespace mangrove::data {

/// In the data folder, what jobs have left for the next one: shards that came from the cluster, and networks. It is no
/// data of the owner's: jobs of others cannot name it.
constexpr const char* kFetchedFolder = "fetched";
constexpr const char* kNetworksFolder = "networks";

/// The folder of a device's data sets, and what else on the device a data set may be read from.
/// threads: any thread may call any method.
class DataFolder {
 public:
  DataFolder() = default;
  /// For the user's own command: every path of a spec means what it says.
  template <std::convertible_to<fs::path> Path>
  requires(!std::same_as<std::remove_cvref_t<Path>, DataFolder>) DataFolder(Path&& path)
      : path_(std::forward<Path>(path)) {}
  /// For a process that takes jobs of others: only what is below the folder, registered in it (see register_data) or
  /// below one of `allowed` is opened. "/" among these allows everything.
  static DataFolder confined(fs::path path, std::vector<fs::path> allowed);

  const fs::path& path() const { return path_; }
  /// Whether jobs of others come here: then errors do not quote what files hold.
  bool is_confined() const { return is_confined_; }

  /// Where the path of a spec is. A relative one is looked for in the working directory, in this folder and among the
  /// registered names, in this order; one that is nowhere is taken as below this folder.
  /// errors: permission_denied (confined: the path, or a link on it or below it, leads to a place that is not allowed,
  /// or to what other jobs have left; whether there is anything is not told).
  Result<fs::path> find(const std::string& path) const;

 private:
  Result<fs::path> find_confined(const std::string& path) const;

  fs::path path_;
  std::vector<fs::path> allowed_;
  bool is_confined_ = false;
};

/// A place that the owner of a device has opened to jobs under a name of its own.
struct RegisteredData {
  std::string name;
  fs::path path;  // absolute
};

/// From now on `name` stands for `path`, a file or folder, where a spec has a path: csv:walks, folder:walks/2024. It is
/// kept in the data folder as a link, in place of one that had this name.
/// errors: invalid_argument (a name of more than 64 characters, or with others than letters, digits, '-', '_' and '.');
/// not_found (nothing is at `path`); those of writing to the folder.
Status register_data(const fs::path& folder, const std::string& name, const fs::path& path);
/// errors: not_found (no such name), those of writing to the folder.
Status unregister_data(const fs::path& folder, const std::string& name);
/// All of them, by name.
std::vector<RegisteredData> registered_data(const fs::path& folder);

}  // namespace mangrove::data
