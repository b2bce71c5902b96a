#include "mangrove/infer/pipeline/sample_feed.h"

#include <numeric>
#include <utility>

namespace mangrove::infer {

void SampleFeed::open(const SampleSource& source) {
  source_ = source;
  if (!loader_) loader_.emplace(source.dataset, source.loading);
}

std::optional<SampleFeed::Request> SampleFeed::begin(const Command& command, std::int64_t most) {
  if (!loader_ || command.count() < 1 || command.count() > most) return std::nullopt;
  const std::int64_t samples = source_.samples;
  const bool has_samples = source_.frames ? command.frames_size() == command.count()
                                          : command.begin() >= 0 && command.count() <= samples &&
                                                command.begin() <= samples - command.count();
  if (!has_samples) return std::nullopt;
  std::vector<std::uint32_t> indices(static_cast<std::size_t>(command.count()));
  std::iota(indices.begin(), indices.end(), static_cast<std::uint32_t>(command.begin()));
  Request request;
  if (source_.frames) indices = request.frames = source_.frames->add(command.frames());
  loader_->request(std::move(indices));
  return request;
}

Result<data::Batch> SampleFeed::end(const Request& request,
                                    google::protobuf::RepeatedPtrField<Unreadable>& unreadable) {
  MG_TRY(data::Batch batch, loader_->next());
  if (!source_.frames) return batch;
  for (Unreadable& frame : source_.frames->remove(request.frames)) *unreadable.Add() = std::move(frame);
  return batch;
}

}  // namespace mangrove::infer
