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
  std::vector<Bytes> operator_weights = {};    // of the parameters of each operator; empty: not known
  std::vector<Bytes> operator_memory = {};     // of values and workspace while each runs; as many
  Bytes process = 0;                           // memory without the network's kernels; 0: not known
  bool was_kept = false;                       // times and memory of operators are of an earlier job
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

/// Scales all times of operators and of reading, so that the whole network takes that node `seconds` for a micro-batch:
/// what it took in a long run, where caches are colder and other boards of its machine busier than while operators are
/// measured. By a factor of two at most, and not at all where the rank is not among them.
void calibrate(std::vector<DeviceProfile>& devices, net::Rank rank, Seconds seconds);

/// Their ranks, the fastest device with the whole network first.
net::RankSet fastest_first(std::vector<DeviceProfile> devices);

}  // namespace mangrove::infer
