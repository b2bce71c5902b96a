#include "mangrove/learn/checkpoint.h"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>

#include "mangrove/tensor/safetensors.h"

namespace mangrove::learn {
namespace {

constexpr const char* kFormat = "mangrove-checkpoint";
constexpr const char* kChecksum = "checksum";
constexpr std::int64_t kVersion = 2;

Error corrupt(const std::string& what) {
  return make_error(Code::data_loss, "checkpoint: " + what);
}

template <class T>
Tensor vector_tensor(const std::vector<T>& elements) {
  return Tensor::of<T>({static_cast<std::int64_t>(elements.size())}, elements);
}

/// The shortest text that reads back as the same number.
template <class T>
std::string exact(T number) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

std::string slot_name(std::size_t slot) {
  return "slot" + std::to_string(slot);
}

/// CRC-32 over the metadata (each key and value with a zero after it, in order of the keys, without the checksum
/// itself), then over the tensors in order of their names (name, type and shape each with a zero after it, data). The
/// rule is the same in every version, so that a damaged version number is told from a newer one.
std::string checksum(const TensorFile& file) {
  uLong crc = 0;
  const auto cover = [&crc](const void* data, std::size_t bytes) {
    crc = crc32_z(crc, static_cast<const Bytef*>(data), bytes);
  };
  const auto cover_text = [&cover](const std::string& text) { cover(text.c_str(), text.size() + 1); };
  for (const auto& [key, value] : file.metadata) {
    if (key == kChecksum) continue;
    cover_text(key);
    cover_text(value);
  }
  for (const auto& [name, tensor] : file.tensors) {
    cover_text(name);
    cover_text(dtype_name(tensor.dtype()));
    cover_text(to_string(tensor.shape()));
    cover(tensor.data(), static_cast<std::size_t>(tensor.bytes()));
  }
  return exact(crc);
}

/// Takes fields out of a parsed file; remembers the first one that is missing or malformed.
class Reader {
 public:
  explicit Reader(const TensorFile& file) : file_(file) {}

  std::string text(const std::string& key) {
    const auto found = file_.metadata.find(key);
    if (found != file_.metadata.end()) return found->second;
    fail("metadata '" + key + "' is missing");
    return {};
  }

  template <class T>
  T number(const std::string& key) {
    const std::string digits = text(key);
    T number{};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size())
      fail("metadata '" + key + "' is not a number: '" + digits + "'");
    return number;
  }

  template <class T>
  std::vector<T> vector(const std::string& name) {
    const auto found = file_.tensors.find(name);
    if (found == file_.tensors.end() || found->second.dtype() != dtype_of<T> || found->second.shape().rank() != 1) {
      fail("tensor '" + name + "' of type " + dtype_name(dtype_of<T>) + " and rank 1 is missing");
      return {};
    }
    const auto elements = found->second.template as<T>();
    return {elements.begin(), elements.end()};
  }

  void fail(const std::string& what) {
    if (status_.ok()) status_ = corrupt(what);
  }
  const Status& status() const { return status_; }

 private:
  const TensorFile& file_;
  Status status_;
};

/// Whether the file is whole, and of a version that we read.
Status verify(const TensorFile& file) {
  Reader reader(file);
  const std::string format = reader.text("format"), stored = reader.text(kChecksum), computed = checksum(file);
  MG_RETURN_IF_ERROR(reader.status());
  if (format != kFormat) return corrupt("format is '" + format + "', expected '" + kFormat + "'");
  if (computed != stored) return corrupt("checksum is " + computed + ", the file says '" + stored + "'");
  const auto version = reader.number<std::int64_t>("version");
  MG_RETURN_IF_ERROR(reader.status());
  if (version >= 1 && version != kVersion) {
    return make_error(Code::unimplemented, "checkpoint: format version " + std::to_string(version) +
                                               ", this program reads version " + std::to_string(kVersion));
  }
  if (version != kVersion) return corrupt("no format version " + std::to_string(version) + " exists");
  return {};
}

std::vector<std::uint32_t> read_pending(Reader& reader) {
  constexpr std::int64_t largest = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> pending;
  for (const std::int64_t index : reader.vector<std::int64_t>("pending")) {
    if (index < 0 || index > largest) reader.fail("pending sample " + std::to_string(index) + " is no index");
    pending.push_back(static_cast<std::uint32_t>(index));
  }
  return pending;
}

}  // namespace

std::string encode_checkpoint(const Checkpoint& checkpoint) {
  TensorFile file;
  file.tensors.emplace("parameters", vector_tensor(checkpoint.parameters));
  file.tensors.emplace("states", vector_tensor(checkpoint.states));
  file.tensors.emplace("average", vector_tensor(checkpoint.average));
  for (std::size_t i = 0; i < checkpoint.slots.size(); ++i)
    file.tensors.emplace(slot_name(i), vector_tensor(checkpoint.slots[i]));
  file.tensors.emplace("pending",
                       vector_tensor(std::vector<std::int64_t>(checkpoint.pending.begin(), checkpoint.pending.end())));
  file.tensors.emplace("micro_batches", vector_tensor(checkpoint.micro_batches));
  file.tensors.emplace("early_correct", vector_tensor(checkpoint.epoch_stats.early_correct));
  // Bytes, not metadata: settings may hold file names, which need not be UTF-8.
  file.tensors.emplace("job", vector_tensor(std::vector<std::uint8_t>(checkpoint.job.begin(), checkpoint.job.end())));
  file.metadata = {
      {"format", kFormat},
      {"version", exact(kVersion)},
      {"step", exact(checkpoint.step)},
      {"epoch", exact(checkpoint.epoch)},
      {"epoch_loss", exact(checkpoint.epoch_stats.loss)},
      {"epoch_correct", exact(checkpoint.epoch_stats.correct)},
      {"epoch_count", exact(checkpoint.epoch_stats.count)},
      {"train_seconds", exact(checkpoint.train_seconds)},
      {"slots", exact(checkpoint.slots.size())},
      {"plateau_factor", exact(checkpoint.plateau.factor)},
      {"plateau_best", exact(checkpoint.plateau.best)},
      {"plateau_epochs", exact(checkpoint.plateau.epochs)},
      {"plateau_bad_epochs", exact(checkpoint.plateau.bad_epochs)},
      {"best_epoch", exact(checkpoint.best.epoch)},
      {"best_accuracy", exact(checkpoint.best.accuracy)},
      {"best_loss", exact(checkpoint.best.loss)},
  };
  file.metadata[kChecksum] = checksum(file);
  return encode_safetensors(file);
}

Result<Checkpoint> parse_checkpoint(std::string_view bytes) {
  auto parsed = parse_safetensors(bytes);
  if (!parsed.ok()) return corrupt(parsed.error().message);
  const TensorFile& file = *parsed;
  MG_RETURN_IF_ERROR(verify(file));
  Reader reader(file);
  Checkpoint checkpoint;
  const auto job = reader.vector<std::uint8_t>("job");
  checkpoint.job.assign(job.begin(), job.end());
  checkpoint.parameters = reader.vector<float>("parameters");
  checkpoint.states = reader.vector<float>("states");
  checkpoint.average = reader.vector<float>("average");
  const auto slots = reader.number<std::size_t>("slots");
  for (std::size_t i = 0; i < slots && reader.status().ok(); ++i)
    checkpoint.slots.push_back(reader.vector<float>(slot_name(i)));
  checkpoint.pending = read_pending(reader);
  if (file.tensors.contains("micro_batches"))  // older files have none
    checkpoint.micro_batches = reader.vector<std::int64_t>("micro_batches");
  checkpoint.step = reader.number<std::int64_t>("step");
  checkpoint.epoch = reader.number<std::int64_t>("epoch");
  checkpoint.epoch_stats = {.loss = reader.number<double>("epoch_loss"),
                            .correct = reader.number<std::int64_t>("epoch_correct"),
                            .count = reader.number<std::int64_t>("epoch_count")};
  if (file.tensors.contains("early_correct"))  // likewise
    checkpoint.epoch_stats.early_correct = reader.vector<std::int64_t>("early_correct");
  checkpoint.train_seconds = reader.number<double>("train_seconds");
  checkpoint.plateau = {.factor = reader.number<double>("plateau_factor"),
                        .best = reader.number<double>("plateau_best"),
                        .epochs = reader.number<std::int64_t>("plateau_epochs"),
                        .bad_epochs = reader.number<std::int64_t>("plateau_bad_epochs")};
  checkpoint.best = {.epoch = reader.number<std::int64_t>("best_epoch"),
                     .accuracy = reader.number<double>("best_accuracy"),
                     .loss = reader.number<double>("best_loss")};
  if (checkpoint.step < 0 || checkpoint.epoch < 0) reader.fail("step or epoch is negative");
  MG_RETURN_IF_ERROR(reader.status());
  return checkpoint;
}

Status check_sizes(const Checkpoint& checkpoint, const CheckpointSizes& expected) {
  const auto check = [](const std::string& what, std::size_t found, std::size_t wanted) -> Status {
    if (found == wanted) return {};
    return make_error(Code::invalid_argument, "checkpoint: " + std::to_string(found) + " " + what +
                                                  ", the network and its optimizer have " + std::to_string(wanted));
  };
  MG_RETURN_IF_ERROR(check("parameters", checkpoint.parameters.size(), expected.parameters));
  MG_RETURN_IF_ERROR(check("states", checkpoint.states.size(), expected.states));
  MG_RETURN_IF_ERROR(check("optimizer slots", checkpoint.slots.size(), expected.slots));
  for (const auto& slot : checkpoint.slots)
    MG_RETURN_IF_ERROR(check("elements of an optimizer slot", slot.size(), expected.parameters));
  return check("averaged weights", checkpoint.average.size(), expected.average ? expected.parameters : 0);
}

Status save_checkpoint(const Checkpoint& checkpoint, const fs::path& path) {
  return write_private_file(path, encode_checkpoint(checkpoint));
}

Result<Checkpoint> load_checkpoint(const fs::path& path) {
  MG_TRY(const std::string bytes, read_file(path));
  return parse_checkpoint(bytes).context(path.string());
}

}  // namespace mangrove::learn
