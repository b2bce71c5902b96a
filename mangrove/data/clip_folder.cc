#include "mangrove/data/clip_folder.h"

#include <algorithm>
#include <memory>

#include "mangrove/base/check.h"
#include "mangrove/data/class_folders.h"
#include "mangrove/data/dataset_row.h"
#include "mangrove/data/file_bytes.h"
#include "mangrove/data/motion_jpeg.h"

namespace mangrove::data {
namespace {

constexpr std::int64_t kFrames = 8, kMostFrames = 256;
constexpr std::int64_t kMostClipValues = std::int64_t{1} << 26;  // of a sample: 256 MiB
constexpr std::string_view kClipSuffixes[] = {".avi", ".mjpeg", ".mjpg"};

bool may_be_clip(const fs::path& path) {
  return is_folder(path) || has_suffix(path, kClipSuffixes);
}

/// A clip whose frames can be decoded in any order.
class Clip {
 public:
  /// errors: not_found, permission_denied, those of find_frames; messages name the path.
  static Result<Clip> open(const fs::path& path, const FileOpener& opener) {
    Clip clip;
    clip.opener_ = opener;
    clip.path_ = path;
    if (is_folder(path)) {
      MG_TRY(clip.images_, list_folder(path));
      std::erase_if(clip.images_, [](const fs::path& file) { return !has_image_name(file); });
      if (clip.images_.empty())
        return make_error(Code::data_loss, path.string() + ": no frames in it: expected images");
      return clip;
    }
    MG_TRY(const FileBytes file, opener(path));
    MG_TRY(std::string content, file.all());
    clip.content_ = std::make_shared<const std::string>(std::move(content));
    MG_TRY(clip.frames_, find_frames(bytes_of(*clip.content_)).context(path.string()));
    return clip;
  }

  std::size_t size() const { return images_.empty() ? frames_.size() : images_.size(); }
  Result<Image> frame(std::size_t index) const {
    if (!images_.empty()) return load_image(images_[index], opener_);
    return decode_image(frames_[index]).context(path_.string() + ": frame " + std::to_string(index));
  }

 private:
  fs::path path_;
  FileOpener opener_;
  std::vector<fs::path> images_;  // of a folder
  // or else
  std::shared_ptr<const std::string> content_;
  std::vector<std::span<const std::uint8_t>> frames_;
};

class ClipFolder final : public Dataset {
 public:
  ClipFolder(ClassFolders found, std::size_t frames, Shape frame, FileOpener open)
      : clips_(std::move(found.entries)),
        class_names_(std::move(found.classes)),
        frames_(frames),
        frame_(frame),
        open_(std::move(open)) {}

  std::uint32_t size() const override { return static_cast<std::uint32_t>(clips_.size()); }
  Shape sample_shape() const override { return {static_cast<std::int64_t>(frames_) * frame_[0], frame_[1], frame_[2]}; }
  const std::vector<std::string>& class_names() const override { return class_names_; }
  bool decodes() const override { return true; }
  std::string name(std::uint32_t index) const override { return clips_[index].path.string(); }
  std::int32_t label(std::uint32_t index) const override { return clips_[index].label; }

  Status read(std::uint32_t index, std::span<float> out) const override {
    MG_CHECK(out.size() == static_cast<std::size_t>(sample_shape().elements()));
    MG_TRY(const Clip clip, Clip::open(clips_[index].path, open_));
    const auto values = static_cast<std::size_t>(frame_.elements());
    for (std::size_t i = 0; i < frames_; ++i) {
      MG_TRY(Image image, clip.frame((2 * i + 1) * clip.size() / (2 * frames_)));
      image = to_channels(std::move(image), static_cast<int>(frame_[0]));
      image = resize_and_crop(image, static_cast<int>(frame_[2]), static_cast<int>(frame_[1]));
      to_planar(image, out.subspan(i * values, values));
    }
    return {};
  }

 private:
  std::vector<ClassEntry> clips_;
  std::vector<std::string> class_names_;
  std::size_t frames_;  // of a sample
  Shape frame_;         // [C, H, W]
  FileOpener open_;
};

}  // namespace

Result<std::shared_ptr<const Dataset>> open_clip_folder(const DatasetSpec& spec, Split split,
                                                        const DataFolder& folder) {
  MG_TRY(const std::int64_t frames, spec.whole_number("frames", kFrames, 1, kMostFrames));
  MG_TRY(const fs::path path, folder.find(spec.path));
  MG_TRY(auto found, list_class_folders(path, split, &may_be_clip, "clips (.avi, .mjpeg, or folders of frames)"));
  if (!found) return std::shared_ptr<const Dataset>();
  FileOpener open = folder.opener();
  const auto first_frame = [&]() -> Result<Image> {
    MG_TRY(const Clip clip, Clip::open(found->first, open));
    return clip.frame(0);
  };
  MG_TRY(Shape frame, image_shape(spec, first_frame));
  if (frame.elements() > kMostClipValues / frames)
    return make_error(Code::invalid_argument, std::to_string(frames) + " frames of " + to_string(frame) +
                                                  " are too large for a sample: give a smaller 'size' or 'frames'");
  return std::shared_ptr<const Dataset>(std::make_shared<ClipFolder>(
      *std::move(found), static_cast<std::size_t>(frames), std::move(frame), std::move(open)));
}

DatasetRow rows::clips() {
  return {.info = {"clips", "clips:PATH[,frames=8][,size=96][,channels=3]",
                   "short videos in class folders: Motion-JPEG (.avi, .mjpeg), or a folder of frames each", true},
          .open = &open_clip_folder,
          .options = "frames size channels"};
}

}  // namespace mangrove::data
