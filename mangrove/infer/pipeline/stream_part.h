#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "mangrove/base/result.h"
#include "mangrove/engine/compiled_stage.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/pipeline/sample_feed.h"
#include "mangrove/job/role.h"

namespace mangrove::infer {

/// A node's part in the work that streams through the nodes: its stages of a pipeline, or its tiles. Each placement of
/// the network on the nodes is a generation; messages of another one are ignored.
/// threads: one at a time.
class StreamPart {
 public:
  virtual ~StreamPart() = default;

  /// Of the placement; 0: there is none yet.
  virtual std::uint64_t generation() const = 0;
  /// Whether a PLACE command can be followed with this graph.
  virtual bool makes_sense(const Command& command, const Graph& graph) const = 0;
  /// Begins a newer generation and forgets the micro-batches of older ones. errors: of compiling, and of loading
  /// samples. REQUIRES: makes_sense().
  virtual Status place(const Command& command, const Graph& graph, const SampleSource& source) = 0;

  // Both ignore messages that make no sense or belong to another generation.
  virtual void feed(const Command& command) = 0;
  virtual void take_activation(net::Message message) = 0;

  /// Tells the leader what it knows of a micro-batch that is overdue. A part that is never asked says nothing.
  virtual void say_status(const Command&) const {}

  virtual bool has_work() const = 0;
  /// Computes one micro-batch. Its answer goes to the leader, or its values to other nodes. A micro-batch whose
  /// deadline has passed is dropped, and the leader is told. errors: those of Loader::next and ActivationCodec::decode.
  /// REQUIRES: has_work().
  virtual Status work() = 0;
};

/// What a part needs. slowdown: the factor by which a CPU quota stretches the time of a core. load: gives the network's
/// operators their weights.
struct StreamPartOptions {
  const InferJob& job;
  job::RoleContext& context;
  double slowdown = 1;
  LoadParameters load;
};
using MakeStreamPart = std::function<std::unique_ptr<StreamPart>(StreamPartOptions options)>;

}  // namespace mangrove::infer
