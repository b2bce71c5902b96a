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
  /// The one call that may be made without a certificate.
  static constexpr const char* kOpenToStrangers = "/mangrove.cluster.Enrolment/Enrol";

  /// What the service calls when members or the authority change.
  struct Listeners {
    std::function<void()> revoked;     // a member may have been revoked
    std::function<Status()> replaced;  // the authority was replaced: the coordinator needs a certificate of the new one
  };
  /// registrar: null if this coordinator signs no certificates; then every call fails and says so. The registrar and
  /// the gate must outlive the service.
  EnrolmentService(Registrar* registrar, Gate& gate, Listeners listeners);
  ~EnrolmentService();  // the server must have shut down

  grpc::Service& service();
  /// Sets where the coordinator listens, for join strings. If it listens on every address of its machine, each
  /// invitation looks for the one that others reach, since the network may come up after the coordinator.
  void set_address(std::string address);

 private:
  class Service;
  std::unique_ptr<Service> service_;
};

}  // namespace mangrove::cluster
