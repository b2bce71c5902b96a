#include "mangrove/train/compression/worker_codecs.h"

#include "mangrove/train/data_parallel/worker_momentum.h"
#include "mangrove/train/strategy_row.h"

namespace mangrove::train {

Result<std::unique_ptr<WorkerCodecs>> WorkerCodecs::create(const TrainJob& job, const Hyperparameters& recipe,
                                                           const Graph& graph, job::RoleContext& context) {
  std::unique_ptr<WorkerCodecs> codecs(new WorkerCodecs);
  if (!strategy_of(job).has_server) return codecs;
  const codec::Stream stream = uplink_stream(graph, job, context.endpoint.rank());
  if (is_auto(job)) {
    codecs->stream_ = stream;
    codecs->chooser_.emplace(context.clock, stream, static_cast<std::size_t>(context.endpoint.size()) - 1);
    // without momentum this is error feedback
    const float momentum = uplink_has_momentum(job, recipe) ? shared_momentum(recipe.optimizer) : 0.0f;
    codecs->chosen_.emplace(nullptr, codec::MomentumOptions{.momentum = momentum},
                            static_cast<std::size_t>(stream.elements()));
  } else if (is_encoded(job)) {
    MG_TRY(codecs->uplink_, UplinkEncoder::create(job.codec(), job, recipe, stream));
  }
  if (!is_plain(job.downlink_codec()) || is_auto(job)) codecs->downlink_.emplace(job, graph);
  return codecs;
}

void WorkerCodecs::keep_states(std::span<const float> states) {
  if (downlink_) downlink_->keep_states(states);
}

std::string WorkerCodecs::encode(std::span<const float> update, double loss, const OnWire& before, Answer& answer) {
  if (!chooser_) return uplink_->encode(update, loss);
  choose(update, before, answer);
  return chosen_->encode(update);
}

void WorkerCodecs::choose(std::span<const float> update, const OnWire& before, Answer& answer) {
  if (const std::optional<CodecChoice> choice = chooser_->next(update, before.seconds, before.bytes)) {
    ChosenCodec& chosen = *answer.mutable_chosen();
    chosen.set_codec(choice->codec);
    chosen.set_exchange_s(choice->exchange);
    chosen.set_plain_s(choice->plain);
    chosen.set_bytes_per_s(choice->bytes_per_s);
    chosen.set_why(choice->why);
  }
  if (chooser_->codec() != codec_) {
    codec_ = chooser_->codec();
    chosen_->use(codec::make_codec(codec_, stream_).value(), codec::find_codec(codec_).value()->is_sparse);
  }
  answer.set_codec(codec_);
}

}  // namespace mangrove::train
