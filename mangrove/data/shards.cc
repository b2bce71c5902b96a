#include "mangrove/data/shards.h"

#include <algorithm>

#include "mangrove/base/check.h"
#include "mangrove/data/dataset_row.h"
#include "mangrove/data/shard_file.h"

namespace mangrove::data {
namespace {

constexpr std::string_view kSuffix = ".shard";

std::string shard_split(Split split) {
  return split == Split::train ? "train" : split == Split::validation ? "validation" : "test";
}

std::string shard_name(const std::string& split, std::uint32_t number) {
  const std::string digits = std::to_string(number);
  return split + "-" + std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits + std::string(kSuffix);
}

/// Those whose names begin so. errors: not_found (no such folder).
Result<std::vector<fs::path>> list_shards(const fs::path& folder, const std::string& begin) {
  std::vector<fs::path> paths;
  std::error_code problem;
  for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end; entry.increment(problem)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(begin) && name.ends_with(kSuffix)) paths.push_back(entry->path());
  }
  if (problem) return make_error(Code::not_found, folder.string() + ": cannot read the folder: " + problem.message());
  return paths;
}

Error no_shards(const fs::path& folder) {
  return make_error(Code::not_found,
                    folder.string() + ": no shards in it: expected train-00000.shard, as of 'mangrove data pack'");
}

class Shards final : public Dataset {
 public:
  explicit Shards(std::vector<ShardFile> files) : files_(std::move(files)) {
    for (const ShardFile& file : files_) ends_.push_back(file.header().first + file.header().samples);
  }

  std::uint32_t size() const override { return ends_.back(); }
  Shape sample_shape() const override { return header().sample_shape; }
  const std::vector<std::string>& class_names() const override { return header().classes; }
  const CoarseLabels* coarse() const override { return header().coarse.names.empty() ? nullptr : &header().coarse; }
  std::string title() const override { return header().title; }
  std::vector<std::uint32_t> run_ends() const override { return ends_; }
  bool decodes() const override { return std::ranges::any_of(files_, &ShardFile::is_compressed); }
  std::string name(std::uint32_t index) const override {
    const auto [file, sample] = place(index);
    return file->name(sample);
  }
  std::string file(std::uint32_t index) const override { return place(index).first->path(); }
  std::int32_t label(std::uint32_t index) const override {
    const auto [file, sample] = place(index);
    return file->label(sample);
  }
  Status read(std::uint32_t index, std::span<float> out) const override {
    MG_CHECK(index < size() && out.size() == static_cast<std::size_t>(sample_shape().elements()));
    const auto [file, sample] = place(index);
    return file->read(sample, out);
  }

 private:
  const ShardHeader& header() const { return files_.front().header(); }
  std::pair<const ShardFile*, std::uint32_t> place(std::uint32_t index) const {
    const ShardFile& file = files_[static_cast<std::size_t>(std::ranges::upper_bound(ends_, index) - ends_.begin())];
    return {&file, index - file.header().first};
  }

  std::vector<ShardFile> files_;
  std::vector<std::uint32_t> ends_;  // index behind the last sample of each
};

/// In the order of their samples, none missing, all of one data set.
Status check_together(const std::vector<ShardFile>& files, const std::vector<fs::path>& paths,
                      const std::string& split) {
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const ShardHeader& header = files[i].header();
    const auto refuse = [&](const std::string& what) {
      return make_error(Code::data_loss, paths[i].string() + ": " + what);
    };
    if (header.split != split) return refuse("it is of the split '" + header.split + "', going by its name of another");
    if (!header.same_data(files[0].header()))
      return refuse("its classes, title or the shape of its samples are not those of " + paths[0].string());
    if (header.first != next)
      return refuse("it begins with sample " + std::to_string(header.first) + ", expected " + std::to_string(next) +
                    ": a shard before it is missing, or another");
    next += header.samples;
    if (header.last && i + 1 < files.size())
      return refuse("it is the last shard, but there is " + paths[i + 1].string());
  }
  if (files.back().header().last) return {};
  return make_error(Code::data_loss, paths.back().string() + ": the shards that follow it are missing: expected " +
                                         shard_name(split, static_cast<std::uint32_t>(files.size())));
}

/// Writes samples to one shard after the other.
class ShardWriter {
 public:
  ShardWriter(fs::path folder, ShardHeader header, const PackOptions& options)
      : folder_(std::move(folder)), header_(std::move(header)), options_(options), builder_(empty_shard()) {}

  Status add(std::span<const float> sample, std::int32_t label) {
    const std::string kept = builder_.kept(sample);
    // the header's own few bytes are left out of account
    const std::size_t bytes = builder_.bytes() + kept.size() + ShardBuilder::kIndexBytes;
    if (builder_.samples() > 0 && static_cast<Bytes>(bytes) > options_.shard_bytes) MG_RETURN_IF_ERROR(write(false));
    builder_.add(kept, label);
    return {};
  }
  Result<PackedSplit> finish() {
    MG_RETURN_IF_ERROR(write(true));
    return packed_;
  }

 private:
  ShardBuilder empty_shard() const {
    return {static_cast<std::size_t>(header_.sample_shape.elements()), options_.compress};
  }
  Status write(bool last) {
    header_.samples = builder_.samples();
    header_.last = last;
    const std::string file = builder_.file(header_);
    MG_RETURN_IF_ERROR(write_file_atomically(folder_ / shard_name(header_.split, packed_.shards), file));
    packed_.shards += 1;
    packed_.samples += header_.samples;
    packed_.bytes += static_cast<Bytes>(file.size());
    header_.first += header_.samples;
    builder_ = empty_shard();
    return {};
  }

  const fs::path folder_;
  ShardHeader header_;
  const PackOptions& options_;
  ShardBuilder builder_;
  PackedSplit packed_;
};

/// errors: invalid_argument (no samples, or samples that are too large).
Result<ShardHeader> header_of(const Dataset& dataset, Split split, const PackOptions& options) {
  ShardHeader header{.split = shard_split(split),
                     .sample_shape = dataset.sample_shape(),
                     .classes = dataset.class_names(),
                     .title = dataset.title().empty() ? options.title : dataset.title()};
  if (const CoarseLabels* coarse = dataset.coarse()) header.coarse = *coarse;
  if (dataset.size() == 0) return make_error(Code::invalid_argument, "the split '" + header.split + "' is empty");
  if (header.sample_shape.elements() > kMostShardValues)
    return make_error(Code::invalid_argument, "samples of " + to_string(header.sample_shape) + " have more than " +
                                                  std::to_string(kMostShardValues) + " values");
  return header;
}

}  // namespace

Result<std::vector<fs::path>> shards_in(const fs::path& folder) {
  MG_TRY(auto paths, list_shards(folder, ""));
  if (paths.empty()) return no_shards(folder);
  std::ranges::sort(paths);
  return paths;
}

bool has_shards(const fs::path& folder) {
  const auto paths = list_shards(folder, "");
  return paths.ok() && !paths->empty();
}

Result<std::shared_ptr<const Dataset>> open_shards(const DatasetSpec& spec, Split split, const DataFolder& data) {
  MG_TRY(const fs::path folder, data.find(spec.path));
  const FileOpener open = data.opener();
  MG_TRY(auto paths, list_shards(folder, shard_split(split) + "-"));
  if (paths.empty() && has_shards(folder)) return std::shared_ptr<const Dataset>();
  if (paths.empty()) return no_shards(folder);
  std::ranges::sort(paths, {}, [](const fs::path& path) { return std::pair(path.native().size(), path); });
  std::vector<ShardFile> files;
  for (const fs::path& path : paths) {
    MG_TRY(ShardFile file, ShardFile::open(path, open));
    files.push_back(std::move(file));
  }
  MG_RETURN_IF_ERROR(check_together(files, paths, shard_split(split)));
  return std::shared_ptr<const Dataset>(std::make_shared<Shards>(std::move(files)));
}

Result<PackedSplit> write_shards(const Dataset& dataset, Split split, const fs::path& folder,
                                 const PackOptions& options, const std::function<void(std::uint32_t)>& progress,
                                 const std::stop_token& stop) {
  MG_TRY(ShardHeader header, header_of(dataset, split, options));
  MG_RETURN_IF_ERROR(make_writable_folder(folder));
  MG_TRY(const auto before, list_shards(folder, header.split + "-"));
  if (!before.empty())
    return make_error(Code::already_exists, before[0].string() + ": there are shards already; choose another folder");
  std::vector<float> sample(static_cast<std::size_t>(header.sample_shape.elements()));
  ShardWriter writer(folder, std::move(header), options);
  for (std::uint32_t index = 0; index < dataset.size(); ++index) {
    if (stop.stop_requested())
      return make_error(Code::cancelled, "stopped after " + std::to_string(index) + " samples");
    MG_RETURN_IF_ERROR(dataset.read(index, sample));
    MG_RETURN_IF_ERROR(writer.add(sample, dataset.label(index)));
    progress(index + 1);
  }
  return writer.finish();
}

DatasetRow rows::shards() {
  return {.info = {"shards", "shards:PATH", "samples of any data set, packed into large files by 'mangrove data pack'",
                   true},
          .open = &open_shards};
}

}  // namespace mangrove::data
