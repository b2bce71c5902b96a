#pragma once

#include <string>
#include <vector>

#include "mangrove/base/units.h"
#include "mangrove/net/endpoint.h"

namespace mangrove::infer {

/// The measured speed and memory of a node's device.
struct DeviceProfile {
  net::Rank rank = 0;
  std::string name;
  std::string host;                            // devices of one host share its cores
  double cores = 1;                            // processor time that the host gives it, in cores
  int threads = 1;                             // threads of its kernels
  std::vector<Seconds> operator_seconds = {};  // time of each operator for one micro-batch
  Seconds read_seconds = 0;                    // time to read one micro-batch of samples
  std::vector<Bytes> operator_weights = {};    // parameters of each operator; empty: not known
  std::vector<Bytes> operator_memory = {};     // values and workspace while each operator runs
  Bytes process = 0;                           // memory of the process without kernels; 0: not known
  Bytes needed = 0;                            // of it, what the system cannot take back
  Bytes memory = 0;                            // the most that its process may use; 0: not limited
  bool was_kept = false;                       // the figures of the operators are from an earlier job
  BytesPerSecond rate = 0;                     // rate of its link; 0: not measured
  Seconds round_trip = 0;                      // round trip to a neighbour
  Seconds byte_seconds = 0;                    // processor time for a byte that is sent or received
  Seconds message_seconds = 0;                 // processor time for a message

  /// The time of the whole network on this device, for a micro-batch.
  Seconds single_seconds() const {
    Seconds sum = reads_beside() ? 0 : read_seconds;
    for (const Seconds seconds : operator_seconds) sum += seconds;
    return sum;
  }
  /// All that it does takes `factor` times as long.
  void scale(double factor);
  /// Whether one of its cores is free for reading, sending and receiving while the others compute.
  bool reads_beside() const { return cores >= threads + 1; }
};

/// The profile of a rank. One that was not measured is taken to be like the first device, and has no name of its own.
DeviceProfile profile_of(const std::vector<DeviceProfile>& measured, net::Rank rank);

/// The same, which is added to the measured ones if it is not among them.
DeviceProfile& profile_among(std::vector<DeviceProfile>& measured, net::Rank rank);

/// Scales all times of operators and of reading, so that the whole network takes the node `rank` this number of seconds
/// for a micro-batch. That is its time in a long run, in which caches are colder and other boards of its machine busier
/// than while operators are measured. The factor is at most two. Nothing changes if the rank is not among the devices.
void calibrate(std::vector<DeviceProfile>& devices, net::Rank rank, Seconds seconds);

/// The ranks of the devices, ordered by their time for the whole network.
net::RankSet fastest_first(std::vector<DeviceProfile> devices);

}  // namespace mangrove::infer
