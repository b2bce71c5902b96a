#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/infer/pipeline/report.h"

namespace mangrove::infer {

// The messages about tiles to the client. docs/json.md explains the keys.

/// Operators that are computed together, in tiles or whole.
struct TileBlockReport {
  struct Tile {
    std::string node;
    std::vector<std::int64_t> region;      // [top, left, bottom, right] of what the block makes; none: all of it
    Seconds busy = 0, predicted_busy = 0;  // for one micro-batch
    static void fields(auto& self, auto& field) {
      field("node", self.node);
      field("region", self.region);
      field("busy_s", self.busy);
      field("predicted_busy_s", self.predicted_busy);
    }
  };
  std::string first, last;    // names of operators
  std::size_t operators = 0;  // how many
  std::vector<Tile> tiles;

  static void fields(auto& self, auto& field) {
    field("first", self.first);
    field("last", self.last);
    field("operators", self.operators);
    field("tiles", self.tiles);
  }
};

/// Nodes that compute micro-batches together.
struct TileTeamReport {
  std::string source;  // the node that has the samples
  Seconds predicted_latency = 0, predicted_period = 0;
  double work = 1;       // operations of all tiles, as a multiple of the whole network's
  Bytes sent_bytes = 0;  // between nodes for a micro-batch, as predicted
  std::string limited_by;
  std::vector<TileBlockReport> blocks;

  static void fields(auto& self, auto& field) {
    field("source", self.source);
    field("predicted_latency_s", self.predicted_latency);
    field("predicted_period_s", self.predicted_period);
    field("work", self.work);
    field("predicted_sent_bytes", self.sent_bytes);
    field("limited_by", self.limited_by);
    field("blocks", self.blocks);
  }
};

/// Nodes were lost, or have become slower or faster, or messages between them take too long: the tiles are placed anew.
struct Retiled {
  static constexpr const char* kEvent = "retiled";
  static constexpr bool kIsWarning = false;
  static constexpr const char* kLost = "lost";        // a node that had tiles
  static constexpr const char* kDrifted = "drifted";  // times of nodes
  static constexpr const char* kOverdue = "overdue";  // answers, though no node was to blame
  std::string why;
  std::vector<std::vector<std::string>> teams;  // names of nodes

  std::string sentence() const;
  static void fields(auto& self, auto& field) {
    field("why", self.why);
    field("teams", self.teams);
  }
};

/// A node, and what it did.
struct TileNodeReport {
  std::string node;
  std::int64_t micro_batches = 0;
  Seconds busy = 0;  // in all
  double utilisation = 0;
  Bytes sent_bytes = 0, resident = 0, predicted_resident = 0;
  double predicted_images_per_s = 0;  // of the whole network on this node alone
  std::string profile;                // "measured", "kept"
  double rate = 0;                    // rate of its link, bytes a second; 0: too fast to be measured
  Seconds round_trip = 0;

  static void fields(auto& self, auto& field) {
    field("node", self.node);
    field("micro_batches", self.micro_batches);
    field("seconds", self.busy);
    field("utilisation", self.utilisation);
    field("sent_bytes", self.sent_bytes);
    field("rss_bytes", self.resident);
    field("predicted_rss_bytes", self.predicted_resident);
    field("predicted_images_per_s", self.predicted_images_per_s);
    field("profile", self.profile);
    field("rate", self.rate);
    field("round_trip_s", self.round_trip);
  }
};

/// The result of the strategy "tiles".
struct TilesResult : StreamedResult {
  std::optional<Seconds> single_latency;  // of a micro-batch on one node; nothing: there was no baseline
  std::optional<double> latency_speedup;  // that, divided by the median here
  std::vector<TileTeamReport> teams;
  std::vector<TileNodeReport> tile_nodes;

  static void fields(auto& self, auto& field) {
    StreamedResult::fields(self, field);
    field("single_latency_s", self.single_latency);
    field("latency_speedup", self.latency_speedup);
    field("teams", self.teams);
    field("tile_nodes", self.tile_nodes);
  }
};

}  // namespace mangrove::infer
