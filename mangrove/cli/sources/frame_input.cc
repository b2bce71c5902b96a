#include "mangrove/cli/sources/frame_input.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "mangrove/cli/sources/sample_source.h"
#include "mangrove/data/motion_jpeg.h"

namespace mangrove::cli {
namespace {

constexpr std::size_t kReadBytes = 1 << 16;
constexpr std::size_t kLargestImage = 64'000'000;  // bytes; what is larger is none
constexpr int kLookEveryMs = 100;                  // at whether to stop
constexpr std::string_view kJpegBegin = "\xFF\xD8\xFF";

job::Frame read_frame(const fs::path& path) {
  std::error_code ignored;
  if (fs::exists(path, ignored) &&
      (!fs::is_regular_file(path, ignored) || fs::file_size(path, ignored) > kLargestImage))
    return {.name = path.string(),
            .image = {},
            .problem = path.string() + ": not an image file: larger than 64 MB, or no file"};
  Result<std::string> image = read_file(path);
  if (!image.ok()) return {.name = path.string(), .image = {}, .problem = image.error().message};
  return {.name = path.string(), .image = std::move(*image), .problem = {}};
}

class FolderInput final : public FrameInput {
 public:
  explicit FolderInput(std::vector<fs::path> paths) : paths_(std::move(paths)) {}

 protected:
  std::optional<job::Frame> read(const std::stop_token&) override {
    return next_ < paths_.size() ? std::optional(read_frame(paths_[next_++])) : std::nullopt;
  }

 private:
  const std::vector<fs::path> paths_;
  std::size_t next_ = 0;
};

class StandardInput final : public FrameInput {
 protected:
  std::optional<job::Frame> read(const std::stop_token& stop) override {
    while (!stop.stop_requested()) {
      if (auto frame = is_jpegs_ ? jpegs_.next(is_end_) : next_line()) return frame;
      if (is_end_) break;
      take_more();
    }
    return std::nullopt;
  }

 private:
  void take_more() {
    ::pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (::poll(&input, 1, kLookEveryMs) <= 0) return;
    std::string bytes(kReadBytes, '\0');
    const ssize_t got = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    is_end_ = got <= 0;
    bytes.resize(got <= 0 ? 0 : static_cast<std::size_t>(got));
    if (!has_begun_ && !bytes.empty()) is_jpegs_ = bytes.front() == kJpegBegin.front();
    has_begun_ = has_begun_ || !bytes.empty();
    is_jpegs_ ? jpegs_.add(bytes) : void(lines_ += bytes);
  }

  /// Of a line that is not empty.
  std::optional<job::Frame> next_line() {
    while (true) {
      const std::size_t end = lines_.find('\n');
      if (end == std::string::npos && (!is_end_ || lines_.empty())) return std::nullopt;
      std::string line = lines_.substr(0, end);
      lines_.erase(0, end == std::string::npos ? end : end + 1);
      if (line.ends_with('\r')) line.pop_back();
      if (!line.empty()) return read_frame(line);
    }
  }

  bool has_begun_ = false, is_jpegs_ = false, is_end_ = false;
  std::string lines_;
  JpegSplitter jpegs_;
};

}  // namespace

Result<std::unique_ptr<FrameInput>> FrameInput::open(const std::string& input) {
  if (input == "-") return std::unique_ptr<FrameInput>(std::make_unique<StandardInput>());
  std::error_code error;
  if (!fs::is_directory(input, error))
    return make_error(Code::not_found,
                      "input: '" + input + "' is no folder; give one with images, or - for standard input");
  MG_TRY(std::vector<fs::path> paths, images_of(input).context("input"));
  return std::unique_ptr<FrameInput>(std::make_unique<FolderInput>(std::move(paths)));
}

std::optional<job::Frame> FrameInput::next(const std::stop_token& stop) {
  {
    MutexLock lock(mutex_);
    while (unanswered_ >= kMostUnanswered && !stop.stop_requested()) changed_.wait_for(mutex_, 0.1);
    ++unanswered_;
  }
  return stop.stop_requested() ? std::nullopt : read(stop);
}

void FrameInput::answered(std::int64_t frames) {
  MutexLock lock(mutex_);
  unanswered_ -= frames;
  changed_.notify_all();
}

job::Frame JpegSplitter::take(std::size_t bytes, std::string problem) {
  job::Frame frame{.name = "frame-" + std::to_string(given_++), .image = {}, .problem = std::move(problem)};
  if (frame.problem.empty()) frame.image = rest_.substr(0, bytes);
  rest_.erase(0, bytes);
  return frame;
}

std::optional<job::Frame> JpegSplitter::next(bool is_end) {
  if (rest_.empty()) return std::nullopt;
  const auto length = data::first_jpeg({reinterpret_cast<const std::uint8_t*>(rest_.data()), rest_.size()});
  if (length.ok() && *length) return take(**length, {});
  const bool is_none = !length.ok() || rest_.size() > kLargestImage;
  if (is_none) {  // up to where the next one begins
    const std::size_t begin = rest_.find(kJpegBegin, 1);
    if (begin == std::string::npos && !is_end && rest_.size() <= kLargestImage) return std::nullopt;
    const std::size_t bytes = std::min(begin, rest_.size());
    return take(bytes, std::to_string(bytes) + " bytes of standard input that are no JPEG" +
                           (length.ok() ? "" : ": " + length.error().message));
  }
  if (!is_end) return std::nullopt;
  return take(rest_.size(), "standard input ends in the middle of a JPEG");
}

}  // namespace mangrove::cli
