#include <algorithm>
#include <charconv>

#include "mangrove/base/format.h"
#include "mangrove/cli/sources/sample_source.h"
#include "mangrove/data/image.h"
#include "mangrove/learn/preparation.h"

namespace mangrove::cli {
namespace {

class ImageSource : public SampleSource {
 public:
  ImageSource(std::string input, Shape sample, std::vector<fs::path> paths, bool is_folder, Preparation preparation)
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
    image = data::to_channels(std::move(image), static_cast<int>(sample_[0]));
    image = data::resize_and_crop(image, static_cast<int>(sample_[2]), static_cast<int>(sample_[1]));
    data::to_planar(image, out);
    const std::size_t plane = out.size() / static_cast<std::size_t>(sample_[0]);
    for (std::size_t c = 0; c * plane < out.size(); ++c) {
      const float mean = preparation_.mean[std::min(c, preparation_.mean.size() - 1)];
      const float deviation = preparation_.deviation[std::min(c, preparation_.deviation.size() - 1)];
      for (float& pixel : out.subspan(c * plane, plane)) pixel = (pixel - mean) / deviation;
    }
    Random unused(0);  // nothing is random outside training
    if (preparation_.as_trained != nullptr) preparation_.as_trained->apply(out, {&unused, 1}, /*training=*/false);
    return {};
  }

  std::string input_;
  Shape sample_;  // [C, H, W]
  std::vector<fs::path> paths_;
  bool is_folder_;
  Preparation preparation_;
};

Status check(const Graph& graph, const Preparation& preparation) {
  const bool single = graph.inputs().size() == 1;
  const Shape shape = graph.inputs().empty() ? Shape{} : graph.inputs()[0].second.shape;
  const bool batch_first = !shape.is_symbolic() || shape.batch_axis() == 0;
  if (!single || graph.inputs()[0].second.dtype != DType::f32 || shape.rank() != 4 || !batch_first ||
      (shape[1] != 1 && shape[1] != 3) || std::max(shape[2], shape[3]) > data::kMaxImageSide) {
    return make_error(Code::invalid_argument,
                      "the model takes no images: it has " + format_things(std::ssize(graph.inputs()), "input") +
                          (single ? " of shape " + to_string(shape) : "") + ", expected f32 [N, 1 or 3, H, W]");
  }
  for (const auto& [what, numbers] : {std::pair("--mean", &preparation.mean), {"--std", &preparation.deviation}}) {
    if (numbers->size() == 1 || static_cast<std::int64_t>(numbers->size()) == shape[1]) continue;
    return make_error(Code::invalid_argument, std::string(what) + " has " + std::to_string(numbers->size()) +
                                                  " numbers, the model takes " + std::to_string(shape[1]) +
                                                  " channels");
  }
  if (std::ranges::any_of(preparation.deviation, [](float d) { return !(d > 0); })) {
    return make_error(Code::invalid_argument, "--std: a number is not above 0");
  }
  return {};
}

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

Result<std::vector<float>> parse_numbers(const std::string& text) {
  std::vector<float> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    float number = 0;
    const auto [stop, code] = std::from_chars(at, end, number);
    if (code != std::errc() || !(number > -1e9f && number < 1e9f) || (stop != end && *stop != ',')) {
      return make_error(Code::invalid_argument, "'" + text + "' is not a list of numbers like 0.485,0.456,0.406");
    }
    numbers.push_back(number);
    if (stop == end) return numbers;
    at = stop + 1;
  }
}

Result<Preparation> preparation_for(const Graph& graph, const std::string& mean, const std::string& deviation,
                                    const std::string& data_dir) {
  Preparation result;
  if (mean.empty() && deviation.empty()) {
    MG_TRY(result.as_trained, learn::preparation_of(graph, data::data_folder(data_dir)));
    if (result.as_trained != nullptr) return result;
  } else if (mean.empty() || deviation.empty()) {
    if (const auto recipe = graph.metadata().find(learn::kAugmentationKey); recipe != graph.metadata().end())
      return make_error(Code::invalid_argument, "--mean and --std: give both or none: the model has its own '" +
                                                    recipe->second + "' in place of which they come");
  }
  const auto choose = [&](const std::string& typed, const char* flag, const char* key,
                          std::vector<float>& numbers) -> Status {
    const auto stored = graph.metadata().find(key);
    if (typed.empty() && stored == graph.metadata().end()) return {};
    MG_TRY(numbers, parse_numbers(typed.empty() ? stored->second : typed)
                        .context(typed.empty() ? "model metadata " + std::string(key) : std::string(flag)));
    return {};
  };
  MG_RETURN_IF_ERROR(choose(mean, "--mean", "mangrove.mean", result.mean));
  MG_RETURN_IF_ERROR(choose(deviation, "--std", "mangrove.std", result.deviation));
  return result;
}

Result<std::unique_ptr<SampleSource>> open_images(const Graph& graph, const std::vector<std::string>& paths,
                                                  const Preparation& preparation) {
  MG_RETURN_IF_ERROR(check(graph, preparation));
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
