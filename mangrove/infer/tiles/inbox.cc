#include "mangrove/infer/tiles/inbox.h"

#include <algorithm>

namespace mangrove::infer {

void TileInbox::begin(std::size_t window, std::size_t tiles) {
  most_ = std::max<std::size_t>(1, 2 * window * tiles);
  partial_.clear();
  complete_.clear();
}

void TileInbox::add(const TilePiece& header, Deadline deadline, net::Rank from, std::vector<float> values,
                    std::size_t pieces) {
  const Key key{header.micro_batch(), header.block()};
  if (!partial_.contains(key) && size() >= most_) forget_oldest();
  Kept& kept = partial_[key];
  Input& input = kept.input;
  if (input.pieces.empty() || input.header.count() != header.count()) {
    input = {};
    input.header.set_generation(header.generation());
    input.header.set_micro_batch(header.micro_batch());
    input.header.set_block(header.block());
    input.header.set_count(header.count());
  }
  input.deadline = deadline;
  if (!input.pieces.contains(from)) {
    input.header.mutable_truths()->MergeFrom(header.truths());
    input.header.mutable_unreadable()->MergeFrom(header.unreadable());
    input.header.mutable_tiles()->MergeFrom(header.tiles());
  }
  input.pieces[from] = std::move(values);
  kept.touched = ++touches_;
  if (input.pieces.size() < pieces) return;
  complete_[key] = std::move(kept);
  partial_.erase(key);
}

void TileInbox::forget_oldest() {
  const auto oldest = [](Inputs& inputs) {
    return std::ranges::min_element(inputs, {}, [](const auto& entry) { return entry.second.touched; });
  };
  const auto partial = oldest(partial_), complete = oldest(complete_);
  const bool is_partial =
      complete == complete_.end() || (partial != partial_.end() && partial->second.touched < complete->second.touched);
  if (is_partial) {
    partial_.erase(partial);
  } else {
    complete_.erase(complete);
  }
}

std::pair<TileInbox::Key, TileInbox::Input> TileInbox::next() {
  auto node = complete_.extract(complete_.begin());
  return {node.key(), std::move(node.mapped().input)};
}

bool TileInbox::has(std::uint64_t micro_batch) const {
  const auto found = complete_.lower_bound({micro_batch, 0});
  return found != complete_.end() && found->first.first == micro_batch;
}

}  // namespace mangrove::infer
