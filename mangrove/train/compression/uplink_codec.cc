#include "mangrove/train/compression/uplink_codec.h"

#include "mangrove/base/check.h"
#include "mangrove/codec/error_feedback.h"
#include "mangrove/codec/momentum_correction.h"
#include "mangrove/codec/warm_up.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/compression/codec_choice.h"
#include "mangrove/train/data_parallel/worker_momentum.h"
#include "mangrove/train/strategy_row.h"

namespace mangrove::train {
namespace {

Status refuse(const std::string& key, const std::string& why) {
  return make_error(Code::invalid_argument, key + ": " + why);
}

std::unique_ptr<codec::Codec> with_feedback(std::unique_ptr<codec::Codec> codec, const codec::CodecRow& row,
                                            const codec::Stream& stream) {
  if (row.is_unbiased || row.keeps_residual) return codec;
  return std::make_unique<codec::ErrorFeedback>(std::move(codec), static_cast<std::size_t>(stream.elements()));
}

Status check_auto(const TrainJob& job) {
  if (!strategy_of(job).has_server)
    return refuse("codec", "'auto' measures the link to a server, strategy '" + job.strategy() + "' has none");
  if (!is_plain(job.downlink_codec()))
    return refuse("downlink_codec", "is chosen too where codec is 'auto': leave it out");
  if (job.codec_warmup() > 0) return refuse("codec_warmup", "codec 'auto' has no fraction that could come down");
  return {};
}

/// Some codecs only suit what comes directly from one worker's gradients.
Status check_uplink(const TrainJob& job) {
  if (is_auto(job)) return check_auto(job);
  if (is_plain(job.codec())) return {};
  MG_TRY(const codec::CodecRow* row, codec::find_codec(job.codec()).context("codec"));
  const std::string name(row->name);
  if (row->has_momentum && !strategy_of(job).sends_gradients)
    return refuse("codec", "'" + name + "' brings momentum along: for strategy " +
                               strategies_with(&Strategy::sends_gradients) + " only");
  if (strategy_of(job).averages_with_neighbours && !row->is_contraction)
    return refuse("codec", job.strategy() + " sends differences of values, for which '" + name + "' is too coarse");
  if (job.codec_warmup() > 0 && !strategy_of(job).has_server)
    return refuse("codec_warmup", "is of what is sent to a server, strategy '" + job.strategy() + "' has none");
  if (job.codec_warmup() > 0 && !codec::parameter_of(job.codec(), "fraction"))
    return refuse("codec_warmup", "codec '" + name + "' has no fraction that could come down");
  return {};
}

Status check_downlink(const TrainJob& job) {
  if (is_plain(job.downlink_codec())) return {};
  MG_TRY(const codec::CodecRow* row, codec::find_codec(job.downlink_codec()).context("downlink_codec"));
  if (!strategy_of(job).has_server)
    return refuse("downlink_codec", "strategy '" + job.strategy() + "' has no server that values come from; see codec");
  if (!row->is_contraction) {
    return refuse("downlink_codec", "values are sent as differences from those before, for which '" +
                                        std::string(row->name) + "' is too coarse");
  }
  return {};
}

}  // namespace

codec::Stream parameter_stream(const Graph& graph, std::uint64_t seed) {
  codec::Stream stream{.layers = {}, .seed = seed};
  for (const std::string& parameter : graph.parameters()) {
    const Shape& shape = graph.value(parameter).shape;
    const std::int64_t rows = shape.rank() < 2 ? 1 : shape[0];
    stream.layers.push_back({.rows = rows, .columns = shape.elements() / rows});
  }
  return stream;
}

std::unique_ptr<codec::Codec> with_feedback(const std::string& text, const codec::Stream& stream) {
  return with_feedback(codec::make_codec(text, stream).value(), *codec::find_codec(text).value(), stream);
}

bool uplink_has_momentum(const TrainJob& job, const Hyperparameters& recipe) {
  if (is_plain(job.codec()) || !strategy_of(job).sends_gradients) return false;
  if (is_auto(job)) return shared_momentum(recipe.optimizer) > 0;
  const Result<const codec::CodecRow*> row = codec::find_codec(job.codec());
  if (!row.ok()) return false;
  return (*row)->has_momentum || ((*row)->is_sparse && shared_momentum(recipe.optimizer) > 0);
}

codec::Stream uplink_stream(const Graph& graph, const TrainJob& job, net::Rank rank) {
  return parameter_stream(graph, job.seed() + static_cast<std::uint64_t>(rank));
}

Result<UplinkEncoder> UplinkEncoder::create(const std::string& text, const TrainJob& job, const Hyperparameters& recipe,
                                            const codec::Stream& stream) {
  MG_TRY(const codec::CodecRow* row, codec::find_codec(text));
  MG_TRY(std::unique_ptr<codec::Codec> codec, codec::make_codec(text, stream));
  if (job.codec_warmup() > 0) {
    const double fraction = codec::parameter_of(text, "fraction").value();
    codec = std::make_unique<codec::WarmUp>(std::move(codec), fraction, job.codec_warmup());
  }
  if (!uplink_has_momentum(job, recipe) || row->has_momentum)
    return UplinkEncoder(with_feedback(std::move(codec), *row, stream));
  const codec::MomentumOptions options{.momentum = shared_momentum(recipe.optimizer), .masks = row->is_sparse};
  const auto elements = static_cast<std::size_t>(stream.elements());
  return UplinkEncoder(std::make_unique<codec::MomentumCorrection>(std::move(codec), options, elements));
}

UplinkDecoder::UplinkDecoder(const TrainJob& job, const Graph& graph)
    : text_(job.codec()),
      stream_(parameter_stream(graph, job.seed())),
      update_(static_cast<std::size_t>(graph.parameter_elements())) {}

Result<std::string> UplinkDecoder::decode(net::Rank from, const Answer& answer, std::string_view message) {
  const bool is_chosen = text_ == "auto";
  if (is_chosen && !CodecChooser::is_candidate(answer.codec()))
    return make_error(Code::data_loss, "codec '" + answer.codec() + "' is not one to choose");
  const std::string& text = is_chosen ? answer.codec() : text_;
  std::unique_ptr<codec::Codec>& codec = codecs_[from][text];
  if (!codec) {
    codec::Stream stream = stream_;
    stream.seed += static_cast<std::uint64_t>(from);
    MG_TRY(codec, codec::make_codec(text, stream));
  }
  MG_RETURN_IF_ERROR(codec->decode(message, update_));
  for (float& value : update_) value *= static_cast<float>(answer.count());
  std::string body;
  body.reserve(update_.size() * sizeof(float));
  net::append_floats(body, update_);
  return body;
}

Status check_codecs(const TrainJob& job) {
  MG_RETURN_IF_ERROR(check_uplink(job));
  return check_downlink(job);
}

}  // namespace mangrove::train
