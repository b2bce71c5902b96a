#pragma once

#include <string>
#include <vector>

#include "mangrove/base/units.h"
#include "mangrove/net/endpoint.h"

namespace mangrove::infer {

/// A node's device, as it was measured.
struct DeviceProfile {
  net::Rank rank = 0;
  std::string name;
  std::string host;                            // devices of one host share its cores
  double cores = 1;                            // cores' worth of time that the host gives
  int threads = 1;                             // for kernels
  std::vector<Seconds> operator_seconds = {};  // of one micro-batch
  Seconds read_seconds = 0;                    // of reading one micro-batch of samples
  BytesPerSecond rate = 0;                     // of its link; 0: not measured
  Seconds round_trip = 0;                      // to a neighbour
  Seconds byte_seconds = 0;                    // that its processor needs for a byte sent or received
  Seconds message_seconds = 0;                 // and for a message

  /// The whole network on it.
  Seconds single_seconds() const {
    Seconds sum = reads_beside() ? 0 : read_seconds;
    for (const Seconds seconds : operator_seconds) sum += seconds;
    return sum;
  }
  /// Whether it has a core for reading, sending and receiving beside those that compute.
  bool reads_beside() const { return cores >= threads + 1; }
};

}  // namespace mangrove::infer
