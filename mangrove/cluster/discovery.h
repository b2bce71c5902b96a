#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/result.h"
#include "mangrove/cluster/address.h"

namespace mangrove::cluster {

/// Announces a coordinator on the local network, through the Avahi daemon of this machine, for as long as it exists.
/// Where there is no daemon, or it does not allow it, that is logged, and the coordinator is announced once there is
/// one. See announced.h for what is said.
/// threads: any thread may call any method. A daemon that stands still holds the destructor up for 25 s (D-Bus).
class Announcement {
 public:
  /// listen: where the coordinator listens, with its real port. If that is the address of one interface, the
  /// coordinator is announced on this interface alone. authority_hashes: of the authorities that the cluster believes.
  Announcement(const HostPort& listen, std::vector<std::string> authority_hashes);
  ~Announcement();

  void set_authorities(std::vector<std::string> authority_hashes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Asks the local network for coordinators of clusters with one of these authorities, until the deadline or until
/// `is_over`, which is asked several times a second. Calls `announced` with the HOST:PORT of each one, as soon as it is
/// heard of; the same one may come again. Nothing of it is proven. At most 256 answers are looked at.
/// errors: failed_precondition (the network cannot be asked from here: says why).
Status listen_for_coordinators(const std::vector<std::string>& authority_hashes, Deadline deadline,
                               const std::function<void(const std::string& address)>& announced,
                               const std::function<bool()>& is_over);

}  // namespace mangrove::cluster
