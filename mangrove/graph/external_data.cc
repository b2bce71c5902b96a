#include "mangrove/graph/external_data.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <optional>
#include <string>
#include <system_error>

#include "mangrove/graph/onnx_tensor.h"

namespace mangrove {
namespace {

constexpr Bytes kMostFetched = INT_MAX;

// A whole number under `key`; nothing where there is no such entry.
Result<std::optional<Bytes>> number_of(const onnx::TensorProto& tensor, const std::string& key) {
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() != key) continue;
    const std::string& text = entry.value();
    Bytes value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 0)
      return make_error(Code::data_loss,
                        std::string("external data: ").append(key) + " is '" + text + "', expected a number of bytes");
    return std::optional<Bytes>(value);
  }
  return std::optional<Bytes>();
}

Status read_bytes(const InputFile& file, Bytes offset, std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count =
        ::pread(file.descriptor(), bytes.data() + done, bytes.size() - done, offset + static_cast<Bytes>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return make_error(Code::data_loss, "cannot read: " + std::generic_category().message(errno));
    if (count == 0) return make_error(Code::data_loss, "cannot read: it ends");
    done += static_cast<std::size_t>(count);
  }
  return {};
}

}  // namespace

ExternalData::ExternalData(fs::path folder) : folder_(folder.empty() ? fs::path(".") : std::move(folder)) {}

Result<fs::path> ExternalData::path_of(const std::string& location) const {
  const fs::path given(location);
  const bool climbs = std::any_of(given.begin(), given.end(), [](const fs::path& part) { return part == ".."; });
  if (location.empty() || given.is_absolute() || climbs || location.find('\0') != std::string::npos)
    return make_error(Code::invalid_argument, "external data: location '" + location +
                                                  "', expected a path relative to the model's folder, without '..'");
  std::error_code error;
  const fs::path folder = fs::canonical(folder_, error);
  const fs::path file = error ? fs::path() : fs::canonical(folder / given, error);
  if (error) return make_error(Code::not_found, "external data: '" + location + "': " + error.message());
  const bool is_inside = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
  if (!is_inside || !fs::is_regular_file(file, error))
    return make_error(Code::invalid_argument, "external data: '" + location + "' leads to " + file.string() +
                                                  ", expected a regular file in " + folder.string());
  return file;
}

Status ExternalData::fetch(onnx::TensorProto& tensor) {
  MG_TRY(const ExternalTensor external, decode_external_tensor(tensor));
  MG_TRY(const std::optional<Bytes> offset, number_of(tensor, "offset"));
  MG_TRY(const std::optional<Bytes> length, number_of(tensor, "length"));
  const Bytes needed = external.shape.elements() * stored_size_of(tensor);
  if (length && *length != needed)
    return make_error(Code::data_loss, "external data: length is " + std::to_string(*length) + " bytes, but shape " +
                                           to_string(external.shape) + " needs " + std::to_string(needed));
  MG_TRY(const fs::path path, path_of(external.location));
  MG_TRY(const InputFile file, InputFile::open(path));
  const Bytes begin = offset.value_or(0);
  if (needed > file.size() || begin > file.size() - needed)
    return make_error(Code::data_loss, "external data: " + std::to_string(needed) + " bytes from " +
                                           std::to_string(begin) + " on are not all in " + path.string() +
                                           ", which has " + std::to_string(file.size()));
  const Bytes taken =
      external.shape.elements() * static_cast<Bytes>(size_of(external.dtype));  // floats of 16 bits become f32
  if (taken > kMostFetched - fetched_)
    return make_error(Code::resource_exhausted,
                      "the network has more than " + format_bytes(kMostFetched) + " of external data");
  fetched_ += taken;
  std::string& bytes = *tensor.mutable_raw_data();
  bytes.resize(static_cast<std::size_t>(needed));
  MG_RETURN_IF_ERROR(read_bytes(file, begin, bytes).context("external data: " + path.string()));
  tensor.clear_external_data();
  tensor.clear_data_location();
  return {};
}

}  // namespace mangrove
