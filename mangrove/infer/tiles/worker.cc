#include "mangrove/infer/tiles/worker.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "mangrove/base/log.h"
#include "mangrove/infer/compile_options.h"
#include "mangrove/infer/pipeline/predictions.h"
#include "mangrove/infer/pipeline/stream_work.h"
#include "mangrove/infer/tags.h"
#include "mangrove/net/payload.h"

namespace mangrove::infer {
namespace {

constexpr std::uint32_t kMostInFlight = 1'000'000;  // the most that the key `window` allows
constexpr int kMostTraces = 100'000;                // of a micro-batch: one for each rank and step

/// What a piece says of its micro-batch, besides the values.
bool has_sane_lists(const TilePiece& header) {
  return header.truths_size() <= header.count() && header.unreadable_size() <= header.count() &&
         header.tiles_size() <= kMostTraces;
}

}  // namespace

TileWorker::TileWorker(StreamPartOptions options)
    : job_(options.job),
      context_(options.context),
      tiles_(compile_options(job_, context_), context_.endpoint.rank(), std::move(options.load)),
      codec_(job_.activations()),
      meter_(context_, options.slowdown) {}

bool TileWorker::makes_sense(const Command& command, const Graph& graph) const {
  const Result<TileLayout> layout = TileLayout::create(graph, command, context_.endpoint.size());
  if (!layout.ok()) log_warn("a placement makes no sense", {{"message", layout.error().message}});
  return layout.ok() && command.window() > 0 && command.window() <= kMostInFlight;
}

Status TileWorker::place(const Command& command, const Graph& graph, const SampleSource& source) {
  for (Feed& feed : feeds_) MG_RETURN_IF_ERROR(samples_.end(feed.samples, *feed.header.mutable_unreadable()));
  feeds_.clear();
  sending_.clear();
  MG_TRY(layout_, TileLayout::create(graph, command, context_.endpoint.size()));
  const auto tiles = std::ranges::count_if(layout_.blocks(), [&](const TileLayout::Block& block) {
    return block.find(context_.endpoint.rank()) != nullptr;
  });
  inbox_.begin(command.window(), static_cast<std::size_t>(tiles));
  MG_RETURN_IF_ERROR(tiles_.place(layout_, graph));
  meter_.begin();  // to compile tiles is no micro-batch's work
  if (is_source()) samples_.open(source);
  generation_ = command.generation();
  return {};
}

void TileWorker::feed(const Command& command) {
  if (command.generation() != generation_ || !is_source()) return;
  std::optional<SampleFeed::Request> samples = samples_.begin(command, job_.micro_batch());
  if (!samples) return;
  Feed feed;
  feed.samples = *std::move(samples);
  if (command.remaining_s() > 0) feed.deadline = context_.clock.after(command.remaining_s());
  feed.header.set_generation(command.generation());
  feed.header.set_micro_batch(command.micro_batch());
  feed.header.set_count(command.count());
  feeds_.push_back(std::move(feed));
}

void TileWorker::take_activation(net::Message message) {
  const Result<net::PayloadParts> parts = net::split_payload(message.payload);
  TilePiece header;
  if (!parts.ok() || !header.ParseFromArray(parts->header.data(), static_cast<int>(parts->header.size()))) {
    log_warn("a piece of a tile cannot be read", {{"from", message.from}, {"bytes", message.payload.size()}});
    return;
  }
  const std::size_t block = header.block();
  if (header.generation() != generation_ || block >= layout_.blocks().size()) return;
  const TileLayout::Part* own = layout_.blocks()[block].find(context_.endpoint.rank());
  if (own == nullptr) return;
  const TileLayout::Part& part = *own;
  const std::vector<net::Rank> senders = layout_.senders(block, part);
  const bool is_sender = std::ranges::count(senders, message.from) > 0;
  if (!is_sender || header.count() < 1 || header.count() > job_.micro_batch() || !has_sane_lists(header)) return;
  const TileLayout::Part* from = block == 0 ? nullptr : layout_.blocks()[block - 1].find(message.from);
  std::vector<float> values(
      static_cast<std::size_t>(layout_.cut(block).elements(layout_.piece(block, from, part), header.count())));
  if (const Status status = codec_.decode(parts->body, values); !status.ok()) {
    log_warn("a piece does not fit the tile", {{"from", message.from}, {"message", status.error().message}});
    return;
  }
  const Deadline deadline = header.remaining_s() > 0 ? context_.clock.after(header.remaining_s()) : Deadline::never();
  inbox_.add(header, deadline, message.from, std::move(values), senders.size());
}

void TileWorker::say_status(const Command& command) const {
  FromNode message;
  TileStatus& status = *message.mutable_tile_status();
  status.set_request(command.request());
  const std::uint64_t id = command.micro_batch();
  const auto is_it = [&](const Feed& feed) { return feed.header.micro_batch() == id; };
  status.set_has_work(inbox_.has(id) || std::ranges::any_of(feeds_, is_it));
  context_.endpoint.send(0, kFromNodeTag, message.SerializeAsString());
}

/// Samples first: other nodes can do nothing without them, and to send them is little work.
Status TileWorker::work() {
  return feeds_.empty() ? compute() : send_samples();
}

Status TileWorker::send_samples() {
  Feed feed = std::move(feeds_.front());
  feeds_.pop_front();
  const Instant start = context_.clock.now();  // waiting for the samples is this device's work too
  MG_TRY(const data::Batch batch, samples_.end(feed.samples, *feed.header.mutable_unreadable()));
  if (context_.clock.now() >= feed.deadline) {
    send_missed(context_.endpoint, feed.header.generation(), feed.header.micro_batch());
    return {};
  }
  const TileLayout::Cut& cut = layout_.cut(0);
  const auto elements = static_cast<std::size_t>(cut.elements(cut.plane, feed.header.count()));
  if (!samples_.has_frames())  // the labels behind these are padding
    feed.header.mutable_truths()->Add(batch.labels.begin(), batch.labels.begin() + feed.header.count());
  send_pieces(feed.header, feed.deadline,
              {.block = 0, .part = nullptr, .values = batch.images.as<float>().first(elements), .has = cut.plane},
              trace_of(0, start));
  return {};
}

Status TileWorker::compute() {
  auto [key, input] = inbox_.next();
  const std::size_t block = key.second;
  const Instant start = context_.clock.now();
  if (start >= input.deadline) {
    send_missed(context_.endpoint, input.header.generation(), input.header.micro_batch());
    return {};
  }
  const TileLayout::Part& part = *layout_.blocks()[block].find(context_.endpoint.rank());
  const std::span<const float> values = compute_tile(part, input);
  TileTrace trace = trace_of(block + 1, start);
  if (context_.clock.now() >= input.deadline) {
    send_missed(context_.endpoint, input.header.generation(), input.header.micro_batch());
  } else if (block + 1 == layout_.blocks().size()) {
    send_predictions(input.header, values, std::move(trace));
  } else {
    const Region has = part.output.is_empty() ? layout_.cut(block + 1).plane : part.output;
    send_pieces(input.header, input.deadline, {.block = block + 1, .part = &part, .values = values, .has = has},
                std::move(trace));
  }
  return {};
}

/// What the block makes of its pieces: an answer is these, put together.
std::span<const float> TileWorker::compute_tile(const TileLayout::Part& part, const TileInbox::Input& input) {
  const std::size_t block = input.header.block();
  CompiledStage* const tile = tiles_.find(block);
  if (tile == nullptr) {
    const TileLayout::Cut& cut = layout_.cut(block);
    answer_.resize(static_cast<std::size_t>(cut.elements(cut.plane, input.header.count())));
    assemble(part, input, answer_);
    return answer_;
  }
  assemble(part, input, tile->input(input.header.count()));
  context_.device.charge(tile->flops());
  return tile->run(input.header.count());
}

/// Puts the pieces together, or adds summands up.
void TileWorker::assemble(const TileLayout::Part& part, const TileInbox::Input& input, std::span<float> to) const {
  const std::size_t block = input.header.block();
  const TileLayout::Cut& cut = layout_.cut(block);
  const TileLayout::Block* before = block == 0 ? nullptr : &layout_.blocks()[block - 1];
  const std::int64_t planes = input.header.count() * cut.channels;
  if (before != nullptr && before->join == TileJoin::add && before->is_tiled()) {
    std::ranges::fill(to, 0.0f);
    for (const TileLayout::Part& from : before->parts) {
      const std::vector<float>& summand = input.pieces.at(from.rank);
      for (std::size_t i = 0; i < to.size(); ++i) to[i] += summand[i];
    }
    return;
  }
  for (const auto& [rank, values] : input.pieces) {
    const Region region = layout_.piece(block, before == nullptr ? nullptr : before->find(rank), part);
    copy_region(values.data(), region, to.data(), part.input, region, planes);
  }
}

/// What is told of the micro-batch goes with the first piece only, so that the answer has it once.
void TileWorker::send_pieces(const TilePiece& header, Deadline deadline, const Made& made, TileTrace trace) {
  const Instant start = context_.clock.now();
  const TileLayout::Cut& cut = layout_.cut(made.block);
  const std::int64_t planes = header.count() * cut.channels;
  TilePiece next;
  next.set_generation(header.generation());
  next.set_micro_batch(header.micro_batch());
  next.set_count(header.count());
  next.set_block(static_cast<std::uint32_t>(made.block));
  const auto self = context_.endpoint.rank();
  struct Piece {
    net::Rank to;
    std::vector<float> values;
  };
  std::vector<Piece> pieces;
  for (const TileLayout::Part& to : layout_.blocks()[made.block].parts) {
    const Region region = layout_.piece(made.block, made.part, to);
    if (region.is_empty()) continue;
    Piece& piece = pieces.emplace_back(Piece{to.rank, {}});
    piece.values.resize(static_cast<std::size_t>(cut.elements(region, header.count())));
    copy_region(made.values.data(), made.has, piece.values.data(), region, region, planes);
    if (to.rank != self)
      trace.set_sent_bytes(trace.sent_bytes() + encoded_bytes(job_.activations(), std::ssize(piece.values)));
  }
  const std::size_t step = trace.step();
  if (deadline < Deadline::never()) next.set_remaining_s(std::max(kLeastRemaining, deadline - start));
  TilePiece first = next;
  *first.mutable_truths() = header.truths();
  *first.mutable_unreadable() = header.unreadable();
  *first.mutable_tiles() = header.tiles();
  *first.add_tiles() = std::move(trace);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const TilePiece& said = i == 0 ? first : next;
    if (pieces[i].to == self) {
      const TileLayout::Part& own = *layout_.blocks()[made.block].find(self);
      inbox_.add(said, deadline, self, std::move(pieces[i].values), layout_.senders(made.block, own).size());
      continue;
    }
    const std::int64_t bytes = encoded_bytes(job_.activations(), std::ssize(pieces[i].values));
    std::string payload = net::begin_payload(said.SerializeAsString(), static_cast<std::size_t>(bytes));
    codec_.append(payload, pieces[i].values);
    context_.endpoint.send(pieces[i].to, kActivationTag, std::move(payload));
  }
  sending_[step] = context_.clock.now() - start;
}

TileTrace TileWorker::trace_of(std::size_t step, Instant start) {
  TileTrace trace;
  trace.set_rank(context_.endpoint.rank());
  trace.set_step(static_cast<std::uint32_t>(step));
  trace.set_seconds(meter_.busy(context_.clock.now() - start, sending_[step]));
  trace.set_resident(meter_.resident());
  return trace;
}

void TileWorker::send_predictions(const TilePiece& header, std::span<const float> values, TileTrace trace) const {
  FromNode message;
  Predictions& predictions = *message.mutable_predictions();
  predictions.set_generation(header.generation());
  predictions.set_micro_batch(header.micro_batch());
  add_predictions(values, header.count(), {.confidence = job_.frames(), .scores = job_.frame_values()}, predictions);
  *predictions.mutable_unreadable() = header.unreadable();
  *predictions.mutable_truths() = header.truths();
  *predictions.mutable_tiles() = header.tiles();
  *predictions.add_tiles() = std::move(trace);
  context_.endpoint.send(0, kFromNodeTag, message.SerializeAsString());
}

}  // namespace mangrove::infer
