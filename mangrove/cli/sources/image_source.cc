#include <algorithm>

#include "mangrove/cli/sources/sample_source.h"
#include "mangrove/data/image.h"
#include "mangrove/learn/preparation.h"

namespace mangrove::cli {
namespace {

class ImageSource : public SampleSource {
 public:
  ImageSource(std::string input, Shape sample, std::vector<fs::path> paths, bool is_folder,
              learn::ImagePreparation preparation)
      : input_(std::move(input)),
        sample_(std::move(sample)),
        paths_(std::move(paths)),
        is_folder_(is_folder),
        preparation_(std::move(preparation)) {}

  std::int64_t count() const override { return static_cast<std::int64_t>(paths_.size()); }
  std::string name(std::int64_t sample) const override { return path(sample).string(); }
  bool has_images() const override { return true; }

  Result<std::vector<Status>> fill(Execution& execution, std::span<const std::int64_t> samples) const override {
    const auto elements = static_cast<std::size_t>(sample_.elements());
    std::vector<Status> read;
    for (const std::int64_t sample : samples) {
      const std::span<float> out = execution.input<float>(input_).subspan(read.size() * elements, elements);
      read.push_back(load(path(sample), out));
      // one bad file among many of a folder is told beside the answers; a file that was named must be there
      if (!read.back().ok() && !is_folder_) return read.back().error();
      if (!read.back().ok()) std::ranges::fill(out, 0.0f);
    }
    return read;
  }

 private:
  const fs::path& path(std::int64_t sample) const { return paths_[static_cast<std::size_t>(sample)]; }

  Status load(const fs::path& file, std::span<float> out) const {
    MG_TRY(data::Image image, data::load_image(file));
    learn::prepare_image(std::move(image), sample_, preparation_, out);
    return {};
  }

  std::string input_;
  Shape sample_;  // [C, H, W]
  std::vector<fs::path> paths_;
  bool is_folder_;
  learn::ImagePreparation preparation_;
};

}  // namespace

Result<std::vector<fs::path>> images_of(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code unreadable;
    if (at->is_regular_file(unreadable) && data::has_image_name(at->path())) paths.push_back(at->path());
  }
  if (error) return make_error(Code::permission_denied, folder.string() + ": cannot list: " + error.message());
  if (paths.empty()) return make_error(Code::not_found, folder.string() + ": no images in this folder");
  std::sort(paths.begin(), paths.end());
  return paths;
}

Result<learn::ImagePreparation> preparation_for(const Graph& graph, const std::string& mean,
                                                const std::string& deviation, const std::string& data_dir) {
  if (mean.empty() && deviation.empty()) {
    // a graph without one input of images is refused where they are opened
    MG_TRY(auto as_trained, learn::preparation_of(graph, data::data_folder(data_dir)));
    if (as_trained != nullptr) return learn::ImagePreparation{.as_trained = std::move(as_trained)};
  } else if (mean.empty() || deviation.empty()) {
    if (const auto recipe = graph.metadata().find(learn::kAugmentationKey); recipe != graph.metadata().end())
      return make_error(Code::invalid_argument, "--mean and --std: give both or none: the model has its own '" +
                                                    recipe->second + "' in place of which they come");
  }
  learn::ImagePreparation result;
  if (mean.empty() || deviation.empty()) {
    MG_TRY(result, learn::image_numbers_of(graph.metadata()));
  }
  if (!mean.empty()) {
    MG_TRY(result.mean, learn::parse_numbers(mean).context("--mean"));
  }
  if (!deviation.empty()) {
    MG_TRY(result.deviation, learn::parse_numbers(deviation).context("--std"));
    if (std::ranges::any_of(result.deviation, [](float d) { return !(d > 0); }))
      return make_error(Code::invalid_argument, "--std: a number is not above 0");
  }
  return result;
}

Result<std::unique_ptr<SampleSource>> open_images(const Graph& graph, const std::vector<std::string>& paths,
                                                  const learn::ImagePreparation& preparation) {
  MG_RETURN_IF_ERROR(learn::check_takes_images(graph.inputs(), preparation));
  std::vector<fs::path> files;
  bool is_folder = false;
  for (const fs::path path : paths) {
    std::error_code error;
    if (!fs::exists(path, error)) return make_error(Code::not_found, path.string() + ": no such file or folder");
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    is_folder = true;
    MG_TRY(const auto found, images_of(path));
    files.insert(files.end(), found.begin(), found.end());
  }
  const auto& [name, info] = graph.inputs()[0];
  return std::make_unique<ImageSource>(name, Shape{info.shape[1], info.shape[2], info.shape[3]}, std::move(files),
                                       is_folder, preparation);
}

}  // namespace mangrove::cli
