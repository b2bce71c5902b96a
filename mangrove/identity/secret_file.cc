#include "mangrove/identity/secret_file.h"

#include <sys/stat.h>

#include <cerrno>

namespace mangrove::identity {

Result<std::string> read_secret_file(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return os_error(path, "open", errno);
  if (S_ISREG(info.st_mode) && (info.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return make_error(
        Code::permission_denied,
        path.string() + " holds a key, and others than its owner may use it; run: chmod 600 " + path.string());
  return read_file(path);
}

Status make_secret_folder(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return {};
  MG_RETURN_IF_ERROR(make_writable_folder(path));
  if (::chmod(path.c_str(), S_IRWXU) != 0) return os_error(path, "chmod", errno);
  return {};
}

}  // namespace mangrove::identity
