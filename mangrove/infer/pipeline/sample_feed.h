#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "mangrove/data/loader.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/pipeline/frame_samples.h"

namespace mangrove::infer {

/// Where a node reads samples.
struct SampleSource {
  std::shared_ptr<const data::Dataset> dataset;
  std::int64_t samples = 0;                   // the number of its samples that the job uses
  std::shared_ptr<FrameSamples> frames = {};  // the same data set, if a client pushes frames; else null
  data::LoaderOptions loading;                // prepares samples as in the network's training
};

/// Reads the samples of FEED commands, while older micro-batches are computed.
/// threads: one at a time.
class SampleFeed {
 public:
  /// A micro-batch whose samples are being read.
  struct Request {
    std::vector<std::uint32_t> frames;  // numbers of the frames that a client pushed
  };

  /// From now on samples come from here.
  void open(const SampleSource& source);
  /// Begins to read the samples of a FEED command. most: of a micro-batch. Nothing: the command makes no sense.
  std::optional<Request> begin(const Command& command, std::int64_t most);
  /// The samples of the oldest request that was begun. Frames that could not be read are added to `unreadable`. errors:
  /// those of Loader::next.
  Result<data::Batch> end(const Request& request, google::protobuf::RepeatedPtrField<Unreadable>& unreadable);

  /// A client pushes frames.
  bool has_frames() const { return source_.frames != nullptr; }

 private:
  SampleSource source_;
  std::optional<data::Loader> loader_;
};

}  // namespace mangrove::infer
