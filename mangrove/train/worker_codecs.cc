#include "mangrove/train/worker_codecs.h"

namespace mangrove::train {

Result<std::unique_ptr<WorkerCodecs>> WorkerCodecs::create(const TrainJob& job, const Recipe& recipe,
                                                           const Graph& graph, net::RoleContext& context) {
  std::unique_ptr<WorkerCodecs> codecs(new WorkerCodecs(job, recipe));
  if (!has_server(job)) return codecs;
  if (!is_plain(job.codec())) {
    codecs->stream_ = push_stream(graph, job, context.endpoint.rank());
    codecs->codec_ = is_auto(job) ? "none" : job.codec();
    MG_TRY(codecs->push_, PushSender::create(codecs->codec_, job, recipe, codecs->stream_));
  }
  if (is_auto(job)) {
    const auto workers = static_cast<std::size_t>(context.endpoint.size()) - 1;
    codecs->chooser_.emplace(context.clock, codecs->stream_, workers);
  }
  if (!is_plain(job.codec_pull()) || is_auto(job)) codecs->pull_.emplace(job, graph);
  return codecs;
}

void WorkerCodecs::keep_states(std::span<const float> states) {
  if (pull_) pull_->keep_states(states);
}

Result<std::string> WorkerCodecs::encode(std::span<const float> update, double loss, const OnWire& before,
                                         Answer& answer) {
  if (chooser_) MG_RETURN_IF_ERROR(choose(update, before, answer));
  return push_->encode(update, loss);
}

Status WorkerCodecs::choose(std::span<const float> update, const OnWire& before, Answer& answer) {
  const std::optional<CodecChoice> choice = chooser_->next(update, before.seconds, before.bytes);
  if (choice) {
    ChosenCodec& chosen = *answer.mutable_chosen();
    chosen.set_codec(choice->codec);
    chosen.set_exchange_s(choice->exchange);
    chosen.set_plain_s(choice->plain);
    chosen.set_bytes_per_s(choice->bytes_per_s);
    chosen.set_why(choice->why);
  }
  if (choice && choice->codec != codec_) {
    codec_ = choice->codec;
    MG_TRY(push_, PushSender::create(codec_, job_, recipe_, stream_));
  }
  answer.set_codec(codec_);
  return {};
}

}  // namespace mangrove::train
