#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/net/endpoint.h"

namespace mangrove::infer {

/// The pieces of micro-batches that a node has got, until all of a tile's input is there and the tile is computed.
///
/// memory: at most as many inputs for each tile as micro-batches are in flight, twice: those that were sent again may
/// come in both ways. If there were more, the one is forgotten that nothing has come for in the longest time.
/// threads: one at a time.
class TileInbox {
 public:
  /// Of a block, for one micro-batch.
  struct Input {
    TilePiece header;  // of all pieces together; its count is that of each
    Deadline deadline = Deadline::never();
    std::map<net::Rank, std::vector<float>> pieces;  // by the rank that has sent it
  };
  /// A micro-batch and a block.
  using Key = std::pair<std::uint64_t, std::size_t>;

  /// A generation begins: everything is forgotten. window: micro-batches in flight. tiles: of this node.
  void begin(std::size_t window, std::size_t tiles);
  /// A piece of an input that is made of so many pieces. One of the same rank that came before is replaced.
  void add(const TilePiece& header, Deadline deadline, net::Rank from, std::vector<float> values, std::size_t pieces);

  bool has_work() const { return !complete_.empty(); }
  /// Takes the input of the oldest micro-batch out. REQUIRES: has_work().
  std::pair<Key, Input> next();

  /// Whether all of an input of the micro-batch is there, and waits to be taken out.
  bool has(std::uint64_t micro_batch) const;
  /// Inputs that are here, whole or not.
  std::size_t size() const { return partial_.size() + complete_.size(); }

 private:
  struct Kept {
    Input input;
    std::uint64_t touched = 0;  // when the last piece came, by a count of pieces
  };
  using Inputs = std::map<Key, Kept>;
  void forget_oldest();

  std::size_t most_ = 1;
  std::uint64_t touches_ = 0;
  Inputs partial_, complete_;
};

}  // namespace mangrove::infer
