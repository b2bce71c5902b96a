#include "mangrove/data/cifar.h"

#include <algorithm>
#include <array>

#include "mangrove/data/dataset_row.h"
#include "mangrove/data/file_bytes.h"

namespace mangrove::data {
namespace {

constexpr std::size_t kPixels = 3 * 32 * 32;
constexpr std::string_view kTrainBatches[] = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                              "data_batch_4.bin", "data_batch_5.bin"};
constexpr std::string_view kTestBatch[] = {"test_batch.bin"};

constexpr const char* kClasses10[] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                      "dog",      "frog",       "horse", "ship", "truck"};

/// What distinguishes the variants.
struct Variant {
  std::string_view name;
  std::string_view title;
  std::string_view folder;
  std::span<const std::string_view> train_files, test_files;
  std::size_t label_bytes;  // of a record, before its pixels
  std::size_t label_at;     // which of them is the label
  std::int32_t classes;
  std::string_view names_file;  // "": the classes of CIFAR-10
  std::string_view advice;      // where the files are missing

  std::size_t record_bytes() const { return label_bytes + kPixels; }
};

/// A file of records, and the bytes before the pixels of each.
struct Records {
  FileBytes file;
  std::vector<std::uint8_t> labels;
};

/// Records of fixed size over several files.
class Cifar final : public Dataset {
 public:
  Cifar(const Variant& variant, std::vector<Records> files, std::vector<std::string> class_names)
      : variant_(variant), class_names_(std::move(class_names)) {
    for (Records& records : files) {
      labels_.insert(labels_.end(), records.labels.begin(), records.labels.end());
      files_.push_back(std::move(records.file));
      ends_.push_back(size());
    }
  }

  std::uint32_t size() const override { return static_cast<std::uint32_t>(labels_.size() / variant_.label_bytes); }
  Shape sample_shape() const override { return {3, 32, 32}; }
  const std::vector<std::string>& class_names() const override { return class_names_; }
  const CoarseLabels* coarse() const override { return coarse_.names.empty() ? nullptr : &coarse_; }
  std::string title() const override { return std::string(variant_.title); }
  std::int32_t label(std::uint32_t index) const override { return label_byte(index, variant_.label_at); }
  std::uint8_t label_byte(std::uint32_t index, std::size_t at) const {
    return labels_[index * variant_.label_bytes + at];
  }

  Status read(std::uint32_t index, std::span<float> out) const override {
    MG_CHECK(out.size() == kPixels && index < size());
    const auto file = static_cast<std::size_t>(std::ranges::upper_bound(ends_, index) - ends_.begin());
    const std::uint32_t first = file == 0 ? 0 : ends_[file - 1];
    std::array<std::uint8_t, kPixels> pixels;
    MG_RETURN_IF_ERROR(files_[file].copy((index - first) * variant_.record_bytes() + variant_.label_bytes, pixels));
    std::ranges::transform(pixels, out.begin(), [](std::uint8_t pixel) { return static_cast<float>(pixel) / 255.0f; });
    return {};
  }

  void set_coarse(CoarseLabels coarse) { coarse_ = std::move(coarse); }

 private:
  const Variant& variant_;
  std::vector<FileBytes> files_;
  std::vector<std::uint8_t> labels_;  // label_bytes of each record
  std::vector<std::uint32_t> ends_;   // index behind the last record of each file
  std::vector<std::string> class_names_;
  CoarseLabels coarse_;
};

Result<Records> open_records(const Variant& variant, const fs::path& path) {
  Records records;
  MG_TRY(records.file, FileBytes::open(path));
  const std::size_t record = variant.record_bytes(), size = records.file.size();
  if (size == 0 || size % record != 0)
    return make_error(Code::data_loss, path.string() + ": " + std::to_string(size) +
                                           " bytes found, a multiple of the " + std::to_string(record) +
                                           " bytes of a record expected");
  records.labels.resize(size / record * variant.label_bytes);
  for (std::size_t i = 0; i < size / record; ++i) {
    const std::span<std::uint8_t> labels(records.labels.data() + i * variant.label_bytes, variant.label_bytes);
    MG_RETURN_IF_ERROR(records.file.copy(i * record, labels));
    if (const int label = labels[variant.label_at]; label >= variant.classes)
      return make_error(Code::data_loss, path.string() + ": label " + std::to_string(label) + " of record " +
                                             std::to_string(i) + ": expected 0 to " +
                                             std::to_string(variant.classes - 1));
  }
  return records;
}

/// One name a line; empty lines at the end do not count.
Result<std::vector<std::string>> read_names(const fs::path& path, std::int32_t expected) {
  MG_TRY(const std::string text, read_file(path));
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) names.push_back(std::move(line));
    begin = end + 1;
  }
  if (static_cast<std::int32_t>(names.size()) == expected) return names;
  return make_error(Code::data_loss, path.string() + ": " + std::to_string(names.size()) + " names of classes found, " +
                                         std::to_string(expected) + " expected");
}

Result<std::shared_ptr<Cifar>> open(const Variant& variant, Split split, const fs::path& data_folder) {
  const fs::path folder = data_folder / variant.folder;
  const auto names = split == Split::train ? variant.train_files : variant.test_files;
  std::vector<Records> files;
  for (const std::string_view name : names) {
    Result<Records> file = open_records(variant, folder / name);
    if (!file.ok() && file.code() == Code::not_found)
      return make_error(Code::not_found, std::string(variant.name) + ": " + std::string(name) + " not in " +
                                             folder.string() + "; " + std::string(variant.advice));
    if (!file.ok()) return file.error();
    files.push_back(*std::move(file));
  }
  std::vector<std::string> class_names(std::begin(kClasses10), std::end(kClasses10));
  if (!variant.names_file.empty()) {
    MG_TRY(class_names, read_names(folder / variant.names_file, variant.classes));
  }
  return std::make_shared<Cifar>(variant, std::move(files), std::move(class_names));
}

constexpr std::string_view kTrain100[] = {"train.bin"};
constexpr std::string_view kTest100[] = {"test.bin"};
constexpr std::string_view kFineNames = "fine_label_names.txt";
constexpr std::string_view kCoarseNames = "coarse_label_names.txt";
constexpr std::size_t kCoarseLabel = 0, kFineLabel = 1;  // where they are in a record of CIFAR-100
constexpr Variant kOfficial = {"cifar10",
                               "",
                               "cifar-10-batches-bin",
                               kTrainBatches,
                               kTestBatch,
                               1,
                               0,
                               10,
                               "",
                               "get it with 'mangrove data fetch cifar10'"};
constexpr Variant kJpeg = {"cifar10-jpeg",
                           "CIFAR-10 (JPEG q75)",
                           "cifar-10-jpeg-batches-bin",
                           kTrainBatches,
                           kTestBatch,
                           1,
                           0,
                           10,
                           "",
                           "put the JPEG version there, or use '--data cifar10'"};
constexpr Variant kLossless = {"cifar10-lossless",
                               "CIFAR-10 (first 10,000 training images)",
                               "cifar10-lossless",
                               std::span(kTrainBatches).first(1),
                               kTestBatch,
                               1,
                               0,
                               10,
                               "",
                               "put the first training batch and the test batch there, or use '--data cifar10'"};
constexpr Variant kFine = {"cifar100",         "",
                           "cifar-100-binary", kTrain100,
                           kTest100,           2,
                           kFineLabel,         100,
                           kFineNames,         "get it with 'mangrove data fetch cifar100'"};
constexpr std::int32_t kCoarseClasses = 20;

/// The coarse class of each fine one, as the records say.
Result<CoarseLabels> find_coarse(const Cifar& dataset, const fs::path& folder) {
  CoarseLabels coarse;
  MG_TRY(coarse.names, read_names(folder / kCoarseNames, kCoarseClasses));
  coarse.of_class.assign(static_cast<std::size_t>(dataset.classes()), -1);
  for (std::uint32_t i = 0; i < dataset.size(); ++i) {
    const std::int32_t found = dataset.label_byte(i, kCoarseLabel), fine = dataset.label_byte(i, kFineLabel);
    std::int32_t& known = coarse.of_class[static_cast<std::size_t>(fine)];
    if (found >= kCoarseClasses || (known >= 0 && known != found))
      return make_error(Code::data_loss,
                        folder.string() + ": sample " + std::to_string(i) + ": coarse class " + std::to_string(found) +
                            " of fine class " + std::to_string(fine) + ": expected " +
                            (known >= 0 ? std::to_string(known) + ", as of other samples" : "0 to 19"));
    known = found;
  }
  return coarse;
}

Result<std::shared_ptr<const Dataset>> open_variant(const Variant& variant, Split split, const fs::path& folder) {
  if (split == Split::validation) return std::shared_ptr<const Dataset>();
  MG_TRY(const auto dataset, open(variant, split, folder));
  return std::shared_ptr<const Dataset>(dataset);
}

// Sums of the unpacked files; the archive's own is checked as well.
constexpr RemoteFile kBatches10[] = {
    {"data_batch_1.bin", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5", 30'730'000, 0},
    {"data_batch_2.bin", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed", 30'730'000, 0},
    {"data_batch_3.bin", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67", 30'730'000, 0},
    {"data_batch_4.bin", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48", 30'730'000, 0},
    {"data_batch_5.bin", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add", 30'730'000, 0},
    {"test_batch.bin", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b", 30'730'000, 0},
};
constexpr RemoteFile kFiles100[] = {
    {"train.bin", "f31298fc616915fa142368359df1c4ca2ae984d6915ca468b998a5ec6aeebf29", 153'700'000, 0},
    {"test.bin", "d8b1e6b7b3bee4020055f0699b111f60b1af1e262aeb93a0b659061746f8224a", 30'740'000, 0},
    {kFineNames, "", 0, 0},
    {kCoarseNames, "", 0, 0},
};
constexpr std::string_view kMirrors[] = {"https://www.cs.toronto.edu/~kriz/"};

constexpr RemoteDataset kCifar10Files = {
    "cifar-10-batches-bin",
    kBatches10,
    kMirrors,
    {"cifar-10-binary.tar.gz", "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd", 170'052'171}};
constexpr RemoteDataset kCifar100Files = {
    "cifar-100-binary",
    kFiles100,
    kMirrors,
    {"cifar-100-binary.tar.gz", "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec", 168'513'733}};

}  // namespace

Result<std::shared_ptr<const Dataset>> open_cifar10(Split split, const fs::path& folder) {
  return open_variant(kOfficial, split, folder);
}

Result<std::shared_ptr<const Dataset>> open_cifar10_jpeg(Split split, const fs::path& folder) {
  return open_variant(kJpeg, split, folder);
}

Result<std::shared_ptr<const Dataset>> open_cifar10_lossless(Split split, const fs::path& folder) {
  return open_variant(kLossless, split, folder);
}

Result<std::shared_ptr<const Dataset>> open_cifar100(Split split, const fs::path& folder) {
  if (split == Split::validation) return std::shared_ptr<const Dataset>();
  MG_TRY(const auto dataset, open(kFine, split, folder));
  MG_TRY(CoarseLabels coarse, find_coarse(*dataset, folder / kFine.folder));
  dataset->set_coarse(std::move(coarse));
  return std::shared_ptr<const Dataset>(dataset);
}

DatasetRow rows::cifar10() {
  return {.info = {"cifar10", "cifar10", "small colour images: 50,000 + 10,000 of 32x32, 10 classes", false},
          .open = &open_by_name<open_cifar10>,
          .folder = "cifar-10-batches-bin",
          .files = &kCifar10Files};
}

DatasetRow rows::cifar10_jpeg() {
  return {
      .info = {"cifar10-jpeg", "cifar10-jpeg", "CIFAR-10 (JPEG q75): the same images after JPEG compression", false},
      .open = &open_by_name<open_cifar10_jpeg>,
      .folder = "cifar-10-jpeg-batches-bin"};
}

DatasetRow rows::cifar10_lossless() {
  return {.info = {"cifar10-lossless", "cifar10-lossless",
                   "the first 10,000 training images of CIFAR-10 and its test images", false},
          .open = &open_by_name<open_cifar10_lossless>,
          .folder = "cifar10-lossless"};
}

DatasetRow rows::cifar100() {
  return {.info = {"cifar100", "cifar100",
                   "small colour images: 50,000 + 10,000 of 32x32, 100 classes in 20 coarse ones", false},
          .open = &open_by_name<open_cifar100>,
          .folder = "cifar-100-binary",
          .files = &kCifar100Files};
}

}  // namespace mangrove::data
