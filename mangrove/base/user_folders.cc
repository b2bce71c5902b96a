#include "mangrove/base/user_folders.h"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

namespace mangrove {
namespace {

/// "" where it is not set.
std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

fs::path home_folder() {
  if (std::string home = variable("HOME"); !home.empty()) return home;
  std::array<char, 4096> strings{};
  passwd record{};
  passwd* found = nullptr;
  if (::getpwuid_r(::getuid(), &record, strings.data(), strings.size(), &found) == 0 && found != nullptr)
    return found->pw_dir;
  return fs::temp_directory_path();
}

fs::path config_folder() {
  const std::string base = variable("XDG_CONFIG_HOME");
  return (base.empty() ? home_folder() / ".config" : fs::path(base)) / "mangrove";
}

fs::path state_folder() {
  if (const std::string base = variable("XDG_STATE_HOME"); !base.empty()) return fs::path(base) / "mangrove";
  return ::getuid() == 0 ? fs::path("/var/lib/mangrove") : home_folder() / ".local" / "state" / "mangrove";
}

}  // namespace mangrove
