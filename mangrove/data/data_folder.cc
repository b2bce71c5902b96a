#include "mangrove/data/data_folder.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <deque>
#include <optional>
#include <set>

namespace mangrove::data {
namespace {

const char* const kRegistered = "registered";  // in the data folder: links, named as the owner has chosen
constexpr std::size_t kLongestName = 64;

/// Makes a path plain: absolute, without "." and "..", and without a slash at its end. Does not look at the disk.
fs::path plain(const fs::path& path) {
  std::error_code ignored;
  const fs::path whole = fs::absolute(path, ignored).lexically_normal();
  return whole.has_filename() || !whole.has_relative_path() ? whole : whole.parent_path();
}

/// Where the path leads when all links are followed. Nothing: it leads nowhere.
std::optional<fs::path> real(const fs::path& path) {
  std::error_code problem;
  fs::path found = fs::canonical(path, problem);
  return problem ? std::nullopt : std::optional(std::move(found));
}

/// REQUIRES: both are plain.
bool is_below(const fs::path& path, const fs::path& root) {
  return std::mismatch(root.begin(), root.end(), path.begin(), path.end()).first == root.end();
}

/// The places that are open to jobs.
class OpenPlaces {
 public:
  void add(const fs::path& root) {
    if (root.empty()) return;
    named_.push_back(plain(root));
    if (auto where = real(root)) real_.push_back(*std::move(where));
  }

  /// path: as it is written, plain.
  bool may_look_at(const fs::path& path) const { return has(named_, path) || has(real_, path); }
  /// path: with its links followed.
  bool has_real(const fs::path& path) const { return has(real_, path); }

  /// The first link at or below a path whose links are followed that leads to another place. Nothing: there is none.
  /// errors: a folder cannot be looked through; folders that this process may not read are passed over.
  Result<std::optional<fs::path>> link_out(const fs::path& begin) const {
    std::set<fs::path> seen;
    for (std::deque<fs::path> folders{begin}; !folders.empty(); folders.pop_front()) {
      std::error_code problem;
      if (!seen.insert(folders.front()).second || !fs::is_directory(folders.front(), problem)) continue;
      using fs::directory_options;
      fs::recursive_directory_iterator entry(folders.front(), directory_options::skip_permission_denied, problem);
      for (const fs::recursive_directory_iterator end; !problem && entry != end; entry.increment(problem)) {
        std::error_code unreadable;
        if (!entry->is_symlink(unreadable)) continue;
        const std::optional<fs::path> target = real(entry->path());
        if (target && !has_real(*target)) return std::optional(entry->path());
        if (target) folders.push_back(*target);
      }
      if (problem) return os_error(folders.front(), "look through", problem.value());
    }
    return std::optional<fs::path>();
  }

 private:
  static bool has(const std::vector<fs::path>& roots, const fs::path& path) {
    return std::ranges::any_of(roots, [&](const fs::path& root) { return is_below(path, root); });
  }

  std::vector<fs::path> named_, real_;
};

OpenPlaces places_of(const fs::path& data_folder, const std::vector<fs::path>& allowed) {
  OpenPlaces open;
  open.add(data_folder);
  for (const fs::path& root : allowed) open.add(root);
  for (const RegisteredData& data : registered_data(data_folder)) open.add(data_folder / kRegistered / data.name);
  return open;
}

/// The folders in which other jobs leave something for the next job.
std::vector<fs::path> kept_places(const fs::path& data_folder) {
  std::vector<fs::path> places;
  for (const char* name : {kFetchedFolder, kNetworksFolder}) {
    places.push_back(plain(data_folder / name));
    if (auto where = real(data_folder / name)) places.push_back(*std::move(where));
  }
  return places;
}

bool is_below_any(const fs::path& path, const std::vector<fs::path>& places) {
  return std::ranges::any_of(places, [&](const fs::path& place) { return is_below(path, place); });
}

Error refused(const std::string& path, const std::string& why) {
  return make_error(Code::permission_denied,
                    "data: '" + path + "' " + why +
                        ": jobs may read the data folder of this device and what its owner has opened, with 'mangrove "
                        "data register NAME PATH' or --allow-path DIR");
}

Status check_name(const std::string& name) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; };
  if (!name.empty() && name.size() <= kLongestName && name.front() != '.' && std::ranges::all_of(name, fits)) return {};
  return make_error(Code::invalid_argument, "'" + name + "' is no name for data: expected 1 to " +
                                                std::to_string(kLongestName) +
                                                " letters, digits, '-', '_' and '.', without a '.' in front");
}

}  // namespace

DataFolder DataFolder::confined(fs::path path, std::vector<fs::path> allowed) {
  DataFolder folder(std::move(path));
  folder.is_confined_ = std::ranges::none_of(allowed, [](const fs::path& root) { return plain(root) == "/"; });
  folder.allowed_ = std::move(allowed);
  return folder;
}

Result<fs::path> DataFolder::find(const std::string& path) const {
  if (is_confined_) return find_confined(path);
  std::error_code ignored;
  if (fs::path(path).is_absolute() || fs::exists(path, ignored)) return fs::path(path);
  const fs::path below = path_ / path, registered = path_ / kRegistered / path;
  return !fs::exists(below, ignored) && fs::exists(registered, ignored) ? registered : below;
}

Result<fs::path> DataFolder::find_confined(const std::string& path) const {
  const OpenPlaces open = places_of(path_, allowed_);
  const std::vector<fs::path> kept = kept_places(path_);
  const auto is_kept = [&](const fs::path& one) { return is_below_any(one, kept); };
  const auto holds_kept = [&](const fs::path& one) {
    return std::ranges::any_of(kept, [&](const fs::path& place) { return real(place) && is_below(place, one); });
  };
  std::vector<fs::path> candidates{path};
  const bool leads_up = *fs::path(path).lexically_normal().begin() == "..";
  if (!fs::path(path).is_absolute() && !leads_up)
    candidates.insert(candidates.end(), {path_ / path, path_ / kRegistered / path});
  std::optional<fs::path> missing;
  bool names_kept = false;
  for (const fs::path& candidate : candidates) {
    if (!open.may_look_at(plain(candidate))) continue;
    names_kept = names_kept || is_kept(plain(candidate));
    if (is_kept(plain(candidate))) continue;
    if (!missing) missing = plain(candidate);
    const std::optional<fs::path> found = real(plain(candidate));
    if (!found) continue;
    if (is_kept(*found) || holds_kept(*found)) return refused(path, "holds what other jobs have left");
    if (!open.has_real(*found)) return refused(path, "is behind a link that leads elsewhere");
    const Result<std::optional<fs::path>> link = open.link_out(*found);
    if (!link.ok()) return refused(path, "cannot be looked through (" + link.error().message + ")");
    if (*link) return refused(path, "has a link that leads elsewhere");
    return *found;
  }
  if (!missing || names_kept) return refused(path, "is not open to jobs");
  return *missing;
}

FileOpener DataFolder::opener() const {
  if (!is_confined_) return &FileBytes::open;
  return [open = places_of(path_, allowed_), kept = kept_places(path_)](const fs::path& path) -> Result<FileBytes> {
    std::error_code problem;
    const fs::path found = fs::canonical(path, problem);
    if (problem) return os_error(path, "read", problem.value());
    if (!open.has_real(found) || is_below_any(found, kept))
      return make_error(Code::permission_denied, path.string() + ": leads to a place that is not open to jobs");
    return FileBytes::open_without_links(found);
  };
}

Status register_data(const fs::path& folder, const std::string& name, const fs::path& path) {
  MG_RETURN_IF_ERROR(check_name(name));
  const std::optional<fs::path> target = real(path);
  if (!target) return make_error(Code::not_found, plain(path).string() + ": there is nothing to register");
  MG_RETURN_IF_ERROR(make_writable_folder(folder / kRegistered));
  const fs::path link = folder / kRegistered / name;
  const fs::path temporary = folder / kRegistered / ("." + name + "." + std::to_string(::getpid()));
  std::error_code problem;
  fs::remove(temporary, problem);
  fs::create_symlink(*target, temporary, problem);
  if (problem) return os_error(link, "link", problem.value());
  fs::rename(temporary, link, problem);
  return problem ? Status(os_error(link, "link", problem.value())) : Status();
}

Status unregister_data(const fs::path& folder, const std::string& name) {
  MG_RETURN_IF_ERROR(check_name(name));
  const fs::path link = folder / kRegistered / name;
  std::error_code problem;
  if (!fs::is_symlink(link, problem)) return make_error(Code::not_found, "no data is registered as '" + name + "'");
  fs::remove(link, problem);
  return problem ? Status(os_error(link, "remove", problem.value())) : Status();
}

std::vector<RegisteredData> registered_data(const fs::path& folder) {
  std::vector<RegisteredData> all;
  std::error_code problem;
  fs::directory_iterator entry(folder / kRegistered, problem);
  for (const fs::directory_iterator end; !problem && entry != end; entry.increment(problem)) {
    std::error_code unreadable;
    fs::path target = fs::read_symlink(entry->path(), unreadable);
    if (unreadable || !check_name(entry->path().filename().string()).ok()) continue;
    all.push_back({entry->path().filename().string(), std::move(target)});
  }
  std::ranges::sort(all, {}, &RegisteredData::name);
  return all;
}

}  // namespace mangrove::data
