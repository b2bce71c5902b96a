#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/units.h"
#include "mangrove/job/role.h"
#include "mangrove/train/shards.pb.h"

namespace mangrove::train {

constexpr Bytes kShardPart = KiB(256);  // the largest part in one message: gradients must not wait long behind it

/// An endpoint that handles messages about shards whenever its rank waits for other messages. So a rank gives and takes
/// shards beside its work with its one thread, in real time as in virtual time. A question of a few bytes has a long
/// answer. So a rank that does not take its answers gets no more of them. threads: those of the role, one at a time.
class ShardEndpoint : public net::Endpoint {
 public:
  /// Takes the place of the endpoint of this context's rank.
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

  /// The context of the role, with this endpoint.
  job::RoleContext& context() { return outer_; }

  net::Rank rank() const override { return inner().rank(); }
  int size() const override { return inner().size(); }
  void send(net::Rank to, net::Tag tag, std::string payload) override { inner().send(to, tag, std::move(payload)); }
  Bytes queued_bytes(net::Rank to, net::Tag tag) const override { return inner().queued_bytes(to, tag); }
  Result<net::Message> recv(const net::RankSet& from, net::Tag tag, Deadline deadline) override {
    return recv_any(from, {tag}, deadline);
  }
  Result<net::Message> recv_any(const net::RankSet& from, const std::vector<net::Tag>& tags,
                                Deadline deadline) override;
  net::Members members() const override { return inner().members(); }
  net::Traffic traffic() const override { return inner().traffic(); }
  void cancel() override { inner().cancel(); }

 protected:
  /// Does what is due. Returns the time at which it must be called again at the latest.
  virtual Deadline attend() = 0;
  /// Called when no message is waiting for this rank.
  virtual void nothing_came() {}
  /// Takes a message about shards of any kind but `read`.
  virtual void take(net::Rank from, const ShardMessage& message, std::string_view body) = 0;
  /// At most kShardPart bytes of a shard that this rank can give. errors: it cannot.
  virtual Result<std::string> read(std::uint32_t shard, Bytes offset) const = 0;

  /// As recv_any(), but only until one thing has happened: a message has come (one about shards is handled here), it is
  /// time for attend(), or the deadline has passed. Returns nothing if there is no message for the caller yet.
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
