#pragma once

#include <functional>
#include <memory>
#include <string>

#include "mangrove/cluster/gate.h"
#include "mangrove/cluster/registrar.h"

namespace grpc {
class Service;
}

namespace mangrove::cluster {

/// The coordinator's side of enrolment.proto.
/// threads: any thread may call any method.
class EnrolmentService {
 public:
  /// The one call for those who have no certificate yet.
  static constexpr const char* kOpenToStrangers = "/mangrove.cluster.Enrolment/Enrol";

  /// What the coordinator does beside.
  struct Listeners {
    std::function<void()> revoked;     // somebody was
    std::function<Status()> replaced;  // the authority was: its own certificate is to be of the new one
  };
  /// registrar: null where this coordinator signs nobody; then every call says so. What is given must outlive it.
  EnrolmentService(Registrar* registrar, Gate& gate, Listeners listeners);
  ~EnrolmentService();  // the server must have shut down

  grpc::Service& service();
  /// Where the coordinator listens, for join strings. Where that is every address of its machine, the one for others is
  /// looked for at each invitation: the network may come up after the coordinator.
  void set_address(std::string address);

 private:
  class Service;
  std::unique_ptr<Service> service_;
};

}  // namespace mangrove::cluster
