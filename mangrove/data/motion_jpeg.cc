#include "mangrove/data/motion_jpeg.h"

#include <string>
#include <string_view>

namespace mangrove::data {
namespace {

using Frame = std::span<const std::uint8_t>;

constexpr std::string_view kJpegBegin = "\xFF\xD8\xFF";
constexpr std::size_t kChunkHeader = 8;  // a name of 4 bytes, and the size of what follows

std::string_view text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Error corrupt(const std::string& what, std::size_t at) {
  return make_error(Code::data_loss, what + " at byte " + std::to_string(at));
}

/// Takes the frames out of the chunks of an AVI file.
class AviReader {
 public:
  explicit AviReader(std::span<const std::uint8_t> file) : file_(file) {}

  Result<std::vector<Frame>> frames() {
    MG_RETURN_IF_ERROR(read_chunks(0, file_.size(), 0));
    return std::move(frames_);
  }

 private:
  /// Lists that hold frames, or lists that do: the file itself, its movie, and the records that a movie may have.
  static bool is_read(std::string_view list) {
    return list == "AVI " || list == "AVIX" || list == "movi" || list == "rec ";
  }

  Status read_chunks(std::size_t at, std::size_t end, int depth) {
    constexpr int kDeepest = 4;  // file, movie, record: deeper is nonsense
    if (depth > kDeepest) return corrupt("AVI: lists lie too deep in each other", at);
    while (at + kChunkHeader <= end) {
      const std::string_view name = text_of(file_.subspan(at, 4));
      const std::size_t size = number_at(at + 4), begin = at + kChunkHeader;
      if (size > end - begin) return corrupt("AVI: a chunk is longer than what it lies in, truncated?", at);
      if ((name == "RIFF" || name == "LIST") && size >= 4) {
        if (is_read(text_of(file_.subspan(begin, 4))))
          MG_RETURN_IF_ERROR(read_chunks(begin + 4, begin + size, depth + 1));
      } else if (size > 0 && depth >= 2) {
        MG_RETURN_IF_ERROR(take(name, begin, size));
      }
      at = begin + size + size % 2;  // chunks begin at even bytes
    }
    return {};
  }

  /// A chunk of the movie: "00dc" and "00db" are frames of stream 00.
  Status take(std::string_view name, std::size_t begin, std::size_t size) {
    if (!name.ends_with("dc") && !name.ends_with("db")) return {};
    if (stream_.empty()) stream_ = name.substr(0, 2);
    if (!name.starts_with(stream_)) return {};
    const Frame frame = file_.subspan(begin, size);
    if (!text_of(frame).starts_with(kJpegBegin))
      return make_error(Code::unimplemented,
                        "AVI: frame " + std::to_string(frames_.size()) + " is not a JPEG: only Motion-JPEG is read");
    frames_.push_back(frame);
    return {};
  }

  std::size_t number_at(std::size_t at) const {
    return file_[at] | std::size_t{file_[at + 1]} << 8 | std::size_t{file_[at + 2]} << 16 |
           std::size_t{file_[at + 3]} << 24;
  }

  const std::span<const std::uint8_t> file_;
  std::string_view stream_;  // of which frames are taken
  std::vector<Frame> frames_;
};

/// Where the JPEG that begins at `begin` ends. Its segments say how long they are, and may hold whole JPEGs
/// (thumbnails); in what follows a scan's header a marker is told from data by the byte after FF. Nothing: it does not
/// end here. errors: data_loss (not a JPEG).
Result<std::optional<std::size_t>> end_of_jpeg(std::span<const std::uint8_t> file, std::size_t begin) {
  constexpr std::uint8_t kEnd = 0xD9, kScan = 0xDA, kFirstRestart = 0xD0, kLastRestart = 0xD7;
  std::size_t at = begin + 2;  // behind the marker that begins an image
  const auto has = [&](std::size_t bytes) { return bytes <= file.size() - at; };
  while (has(2)) {
    if (file[at] != 0xFF) return corrupt("a marker of a JPEG expected", at);
    const std::uint8_t marker = file[at + 1];
    if (marker == 0xFF) {  // fill bytes before a marker
      ++at;
      continue;
    }
    at += 2;
    if (marker == kEnd) return std::optional(at);
    if (!has(2)) break;
    const std::size_t length = std::size_t{file[at]} << 8 | file[at + 1];
    if (length < 2) return corrupt("a segment of a JPEG is shorter than its length", at);
    if (!has(length)) break;
    at += length;
    if (marker != kScan) continue;
    const auto is_data = [&](std::uint8_t next) {
      return next == 0 || (next >= kFirstRestart && next <= kLastRestart);
    };
    while (has(2) && (file[at] != 0xFF || is_data(file[at + 1]))) ++at;
  }
  return std::optional<std::size_t>();
}

Result<std::vector<Frame>> find_jpegs(std::span<const std::uint8_t> file) {
  std::vector<Frame> frames;
  for (std::size_t begin = 0; begin < file.size();) {
    if (!text_of(file.subspan(begin)).starts_with(kJpegBegin)) return corrupt("a JPEG expected", begin);
    MG_TRY(const std::optional<std::size_t> end, end_of_jpeg(file, begin));
    if (!end)
      return make_error(Code::data_loss,
                        "truncated: the JPEG that begins at byte " + std::to_string(begin) + " does not end");
    frames.push_back(file.subspan(begin, *end - begin));
    begin = *end;
  }
  return frames;
}

}  // namespace

Result<std::optional<std::size_t>> first_jpeg(std::span<const std::uint8_t> bytes) {
  if (!text_of(bytes).starts_with(kJpegBegin.substr(0, bytes.size()))) return corrupt("a JPEG expected", 0);
  if (bytes.size() < kJpegBegin.size()) return std::optional<std::size_t>();
  return end_of_jpeg(bytes, 0);
}

Result<std::vector<Frame>> find_frames(std::span<const std::uint8_t> file) {
  const std::string_view text = text_of(file);
  const bool is_avi = text.starts_with("RIFF") && text.substr(4).substr(0, 8).ends_with("AVI ");
  if (!is_avi && !text.starts_with(kJpegBegin))
    return make_error(Code::data_loss, "not a Motion-JPEG clip: neither an AVI file nor JPEGs one behind the other");
  MG_TRY(auto frames, is_avi ? AviReader(file).frames() : find_jpegs(file));
  if (frames.empty()) return make_error(Code::data_loss, "AVI: there are no frames in it");
  return frames;
}

}  // namespace mangrove::data
