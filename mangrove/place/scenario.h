#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/units.h"

namespace mangrove::place {

inline constexpr double kSecondsOfPrice = 3600;  // a device's price is of an hour
inline constexpr double kBytesOfPrice = 1e9;     // a link's price is of so many bytes

inline constexpr std::size_t kMostDevices = 4'096;
inline constexpr std::size_t kMostTasks = 10'000;  // copies included
inline constexpr std::size_t kMostFlows = 40'000;
inline constexpr std::size_t kMostLinks = 100'000;

/// A place where tasks can run: an end device, an edge server, a machine of a cloud.
struct Device {
  std::string name;                 // "camera-3"
  std::string kind;                 // its section of the file, "camera"
  double flops = 1e9;               // operations a second of one core
  double cores = 1;                 // one execution of a task uses one of them
  Bytes memory = 0;                 // for tasks; 0: not limited
  double utilisation = 1;           // share of the cores, and of the accelerator, that tasks may use in the long run
  double idle_watts = 0;            // while it is used at all
  double watts = 0;                 // that computing on all cores adds
  double price = 0;                 // an hour, while it is used at all
  double failure = 0;               // probability that it is down
  std::string zone;                 // may be empty
  std::string domain;               // who runs it; may be empty
  std::int64_t trust = 0;           // the more, the more it is trusted
  std::vector<std::string> labels;  // what else it has, e.g. "camera"
  std::string accelerator;          // its label, e.g. "gpu"; empty: it has none
  double accelerator_flops = 0;     // operations a second; executions take turns on it
  double accelerator_watts = 0;     // that a busy accelerator adds
  /// Stands for all devices of other domains: it takes any task at no cost and in no time, and no limit holds there.
  bool is_outside = false;
};

/// A link between two devices, for both directions together.
struct Link {
  std::size_t from = 0, to = 0;
  BytesPerSecond rate = std::numeric_limits<double>::infinity();
  Seconds delay = 0;              // one way
  double price = 0;               // of 1e9 bytes
  double utilisation = 1;         // share of the rate that flows may use in the long run
  BytesPerSecond worst_rate = 0;  // that it may fall to; 0: it does not fall
  Seconds worst_delay = 0;        // that it may come to; 0: it does not grow
  std::string zone = {};          // where it is; may be empty
  bool is_to_outside = false;     // it only joins a gate and the device that stands for others: it is of all zones

  BytesPerSecond lowest_rate() const { return worst_rate > 0 ? worst_rate : rate; }
  Seconds longest_delay() const { return worst_delay > 0 ? worst_delay : delay; }
};

/// When a task with several inputs is executed.
enum class Wait {
  all,  // once an item has come from each of them: it is executed as often as the rarest comes
  any,  // for each item from each of them
};

/// A step of a service.
struct Task {
  std::string name;
  double operations = 0;                 // of an execution
  std::map<std::string, Seconds> times;  // of an execution, by kind of device, as measured: it runs on these kinds only
  Bytes memory = 0;
  std::string needs;                  // label or accelerator that its device has; on the accelerator it runs there
  std::vector<std::string> zones;     // that its device is in one of; none: any
  std::int64_t trust = 0;             // the least of its device
  std::optional<std::size_t> device;  // where it must be
  std::string licence;                // that its devices need; may be empty
  std::string apart;                  // tasks of this group lie on different devices; may be empty
  Wait wait = Wait::all;
};

/// What a task sends another one of the same service.
struct Flow {
  std::size_t from = 0, to = 0;  // tasks of the service
  Bytes bytes = 0;               // of an item
  double share = 1;              // items for each execution of `from`: a probability, or above 1 if it sends several
  std::vector<std::string> zones = {};  // that links on its way are in one of; none: any
};

/// Tasks, and flows between them without circles. Tasks without inputs are its sources, those without outputs are its
/// sinks.
struct Service {
  std::string name;
  double rate = 1;                                             // executions a second of each source
  Seconds deadline = std::numeric_limits<double>::infinity();  // for the worst latency
  double peak = 0;  // executions a second that the rate may come to; 0: it does not grow
  /// Of devices, that it must survive: it has one copy more, on devices that no other copy uses.
  std::int64_t failures = 0;
  std::vector<Task> tasks;
  std::vector<Flow> flows;

  /// The peak by the rate.
  double growth() const { return peak > 0 ? peak / rate : 1; }
};

/// At most so many devices run tasks with this licence.
struct Licence {
  std::string name;
  std::int64_t devices = 1;
};

/// Services, and the devices and links that they share.
struct Scenario {
  std::vector<Device> devices;
  std::vector<Link> links;
  std::vector<Service> services;
  std::vector<Licence> licences;
};

}  // namespace mangrove::place
