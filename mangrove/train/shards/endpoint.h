#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/units.h"
#include "mangrove/job/role.h"
#include "mangrove/train/shards.pb.h"

namespace mangrove::train {

constexpr Bytes kShardPart = KiB(256);  // most of a shard in one message: gradients must not wait long behind it

/// A rank's endpoint that sees to messages about shards whenever the rank waits for others: a rank then gives and takes
/// shards beside its work, with the one thread that it has, in real time as in virtual time. threads: those of the
/// role, one at a time.
class ShardEndpoint : public net::Endpoint {
 public:
  /// For the context's rank; takes the place of its endpoint.
  explicit ShardEndpoint(job::RoleContext& context)
      : context_(context),
        outer_{.endpoint = *this,
               .clock = context.clock,
               .device = context.device,
               .data_folder = context.data_folder,
               .threads = context.threads,
               .stop = context.stop,
               .report = context.report,
               .step_done = context.step_done} {}

  /// The role's, with this endpoint.
  job::RoleContext& context() { return outer_; }

  net::Rank rank() const override { return inner().rank(); }
  int size() const override { return inner().size(); }
  void send(net::Rank to, net::Tag tag, std::string payload) override { inner().send(to, tag, std::move(payload)); }
  Result<net::Message> recv(const net::RankSet& from, net::Tag tag, Deadline deadline) override {
    return recv_any(from, {tag}, deadline);
  }
  Result<net::Message> recv_any(const net::RankSet& from, const std::vector<net::Tag>& tags,
                                Deadline deadline) override;
  net::Members members() const override { return inner().members(); }
  net::Traffic traffic() const override { return inner().traffic(); }
  void cancel() override { inner().cancel(); }

 protected:
  /// Does what is due, and says when it is to be called again at the latest.
  virtual Deadline attend() = 0;
  /// No message waits that this rank listens to.
  virtual void nothing_came() {}
  /// A message other than `read`.
  virtual void take(net::Rank from, const ShardMessage& message, std::string_view body) = 0;
  /// At most kShardPart of a shard that this rank can give. errors: it cannot.
  virtual Result<std::string> read(std::uint32_t shard, Bytes offset) const = 0;

  /// recv_any() up to the first thing that happens: a message, which is seen to if it is about shards; time for
  /// attend(); or the deadline. Nothing: no message for the caller yet.
  Result<std::optional<net::Message>> recv_once(const net::RankSet& from, const std::vector<net::Tag>& tags,
                                                Deadline deadline);
  void send(net::Rank to, const ShardMessage& message, std::string_view body = {});
  net::Endpoint& inner() const { return context_.endpoint; }
  job::RoleContext& inner_context() { return context_; }
  Clock& clock() const { return context_.clock; }

 private:
  void see_to(const net::Message& message);
  void answer(net::Rank to, const ShardMessage::Read& read);

  job::RoleContext& context_;
  job::RoleContext outer_;
};

}  // namespace mangrove::train
