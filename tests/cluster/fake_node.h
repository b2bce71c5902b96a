#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/cluster/cluster.pb.h"

namespace mangrove::cluster {

/// A peer that speaks the node's side of cluster.proto by hand, and does only what a test says: sends heartbeats or
/// not, says nonsense, goes away without a word.
class FakeNode {
 public:
  /// name: in its certificate.
  explicit FakeNode(const std::string& coordinator, const std::string& name = "fake");
  ~FakeNode();  // breaks the stream

  void say(const FromNode& message);
  void hello();
  void heartbeat();
  /// The next message of the coordinator within `limit`; echoes are left out. nullopt: none came.
  std::optional<ToNode> next(Seconds limit = 20);
  /// Whether the coordinator ends the stream within `limit`.
  bool is_cut(Seconds limit = 20);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Opens RunJob and sends only this, with its job signed, or nothing; returns how the coordinator ended the stream.
Status open_run_job(const std::string& coordinator, const std::optional<FromClient>& first, Seconds limit = 20);

}  // namespace mangrove::cluster
