#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "mangrove/base/file.h"
#include "mangrove/base/mutex.h"
#include "mangrove/job/frame_queue.h"

namespace mangrove::cli {

/// The images of `infer --input`, one after the other. At most kMostUnanswered are given without an answer: who takes
/// the answers slowly is waited for. threads: one calls next(), any answered().
class FrameInput {
 public:
  static constexpr std::int64_t kMostUnanswered = 4096;

  virtual ~FrameInput() = default;

  /// `input`: a folder, whose images come in the order of their names; or "-": standard input, which is either
  /// Motion-JPEG (JPEGs one behind the other; it begins with the byte FF), or the path of an image in each line.
  /// errors: those of listing the folder; not_found (there are no images).
  static Result<std::unique_ptr<FrameInput>> open(const std::string& input);

  /// Nothing: that was the last one, or stop was requested. A file that cannot be read is a frame with a problem, and
  /// so are bytes of a stream that are no JPEG.
  std::optional<job::Frame> next(const std::stop_token& stop);
  /// So many more frames have their answers.
  void answered(std::int64_t frames);

 protected:
  virtual std::optional<job::Frame> read(const std::stop_token& stop) = 0;

 private:
  Mutex mutex_;
  Condition changed_;
  std::int64_t unanswered_ MG_GUARDED_BY(mutex_) = 0;
};

/// Takes a stream of JPEGs apart, as it comes in pieces. What lies between two of them, and is none, is told as such.
/// threads: one at a time.
class JpegSplitter {
 public:
  void add(std::string_view bytes) { rest_ += bytes; }
  /// The next one, named frame-0, frame-1 ... Nothing: more bytes are needed; with is_end, there is no more.
  std::optional<job::Frame> next(bool is_end);

 private:
  job::Frame take(std::size_t bytes, std::string problem);

  std::string rest_;  // begins with a frame that was not given yet
  std::int64_t given_ = 0;
};

}  // namespace mangrove::cli
