#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/base/temporary_folder.h"
#include "tests/sensors/one_model.h"

#include "mangrove/cluster/child_process.h"
#include "mangrove/sensors/sensor_service.h"

namespace mangrove::sensors {

constexpr Seconds kTestLong = 60;  // until something is given up

/// Looks again and again; false: it has not come true in time.
bool wait_for(const std::function<bool()>& condition);

/// A port on which nobody listens now, for TCP or UDP.
int free_port(int socket_type);

/// Debian's mosquitto on a port of its own, with a store that outlives it.
class Broker {
 public:
  /// more: lines of its configuration.
  explicit Broker(const std::string& more = {});
  void start();
  void kill();    // SIGKILL
  void freeze();  // SIGSTOP
  void thaw();    // SIGCONT
  int port() const { return port_; }
  std::string url() const { return "mqtt://127.0.0.1:" + std::to_string(port_); }
  /// Publishes one message for each payload, in one connection, and waits until the broker has them.
  void publish(const std::string& topic, const std::vector<std::string>& payloads, int qos = 1) const;

 private:
  const testing::TemporaryFolder folder_;
  const int port_;
  std::unique_ptr<cluster::ChildProcess> process_;
};

/// mosquitto_sub: when it is made, the broker knows its subscription.
class Subscriber {
 public:
  Subscriber(const Broker& broker, const std::string& topic);
  /// The payload of the next message; "": none has come in time.
  std::string next(Seconds within = kTestLong);

 private:
  std::unique_ptr<cluster::ChildProcess> process_;
};

/// Runs a program to its end. Its standard output.
std::string output_of(const std::string& program, const std::vector<std::string>& arguments,
                      const std::string& input = {});

/// x [N, 3] -> logits [N, 3], the same numbers: the class of the largest number. It answers on the thread that asks.
std::shared_ptr<serve::Model> largest_number();

/// A service with that model as `m`.
struct RunningService {
  explicit RunningService(const std::string& yaml);
  ~RunningService();
  SensorCounts counts() const { return service->counts(); }
  /// Until a count is reached.
  bool wait_until(const std::function<bool(const SensorCounts&)>& condition) const;

  std::unique_ptr<OneModel> models;
  std::unique_ptr<SensorService> service;
};

}  // namespace mangrove::sensors
