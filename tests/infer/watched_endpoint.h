#pragma once

#include <functional>
#include <string>
#include <utility>

#include "mangrove/job/role.h"

namespace mangrove::infer {

/// Shows what a role sends and receives; the hooks are called on its thread, and on_send may change the payload.
class WatchedEndpoint final : public net::Endpoint {
 public:
  explicit WatchedEndpoint(net::Endpoint& inner) : inner_(inner) {}

  std::function<void(net::Rank to, net::Tag tag, std::string& payload)> on_send = [](net::Rank, net::Tag,
                                                                                     std::string&) {};
  std::function<void(const Result<net::Message>&)> on_receive = [](const Result<net::Message>&) {};

  net::Rank rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  void send(net::Rank to, net::Tag tag, std::string payload) override {
    on_send(to, tag, payload);
    inner_.send(to, tag, std::move(payload));
  }
  Result<net::Message> recv(const net::RankSet& from, net::Tag tag, Deadline deadline) override {
    return recv_any(from, {tag}, deadline);
  }
  Result<net::Message> recv_any(const net::RankSet& from, const std::vector<net::Tag>& tags,
                                Deadline deadline) override {
    Result<net::Message> message = inner_.recv_any(from, tags, deadline);
    on_receive(message);
    return message;
  }
  net::Members members() const override { return inner_.members(); }
  net::Traffic traffic() const override { return inner_.traffic(); }
  void cancel() override { inner_.cancel(); }

 private:
  net::Endpoint& inner_;
};

/// The same role's, but for the endpoint.
inline job::RoleContext with_endpoint(const job::RoleContext& context, net::Endpoint& endpoint) {
  return {endpoint, context.clock, context.device, context.data_folder, context.threads, context.stop, context.report};
}

}  // namespace mangrove::infer
