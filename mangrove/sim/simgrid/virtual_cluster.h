#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/cluster/node_event.h"
#include "mangrove/cluster/step_log.h"
#include "mangrove/cluster/usage.h"
#include "mangrove/sim/lie.h"
#include "mangrove/sim/simgrid/endpoint.h"
#include "mangrove/sim/simgrid/network.h"
#include "mangrove/sim/simgrid/virtual_device.h"
#include "mangrove/sim/simulation.h"

namespace mangrove::sim {

/// The devices of a world, playing one job: each rank is an actor of SimGrid. What the coordinator and nodes do for a
/// real job, this does: it tells ranks who is there, loses those that are gone or silent, and lets them join again.
/// threads: SimGrid's actors, of which one runs at a time.
class VirtualCluster {
 public:
  VirtualCluster(const cluster::JobSpec& job, const World& world, SimulationOptions options);

  /// Until the job has ended. errors: as simulate().
  Status run();

 private:
  /// A device's part in the job, from its joining until it is lost.
  struct Incarnation {
    std::size_t device = 0;
    net::Rank rank = 0;
    std::unique_ptr<SimEndpoint> endpoint;
    std::unique_ptr<VirtualDevice> machine;
    simgrid::s4u::ActorPtr actor;
    cluster::StepLog steps;
    bool is_alive = true;  // as the members say
    bool has_ended = false;
    Seconds computed_before = 0;  // the last sample
  };
  /// What is the matter with a device: so many faults hold.
  struct Condition {
    net::Rank rank = 0;
    int down = 0, frozen = 0, cut = 0;
    Deadline is_lost = Deadline::never();  // if it stays silent

    bool is_silent() const { return frozen > 0 || cut > 0; }
  };

  Liar* liar(std::size_t device);
  bool has_wrong_labels(std::size_t device);
  Incarnation& enter(std::size_t device);
  void play(Incarnation& stay);
  void lead(Incarnation& stay);
  job::RoleContext context_of(Incarnation& stay);
  void compute(Incarnation& stay, double flops);
  void handle(Incarnation& stay, std::size_t bytes);
  void post(net::Rank from, net::Rank to, net::Message message);
  void arrive(net::Rank to, net::Message message);

  using FaultPtr = std::shared_ptr<const Fault>;
  void begin(const FaultPtr& fault);
  void end(const Fault& fault, const std::shared_ptr<const Network::Group>& group);
  void await_absence(std::size_t device);
  void go_silent(std::size_t device);
  void come_back(std::size_t device);
  void lose(Incarnation& stay, const std::string& why);
  void change_members(const std::function<void(net::Members&)>& change);
  void tell_members();

  void sample();
  void keep_sampling(Seconds interval);
  void on_report(Report report);
  void event(const cluster::NodeEventKind& kind, const Incarnation& stay, const std::string& message);
  void log(const std::string& name, const std::string& rest);
  Incarnation& stay_of(std::size_t device) { return *stays_[static_cast<std::size_t>(conditions_[device].rank)]; }

  const cluster::JobSpec& job_;
  const cluster::JobSpec job_of_nodes_;
  const World& world_;
  SimulationOptions options_;
  VirtualClock clock_;
  Timeline timeline_;
  Network network_;
  // by memory, since devices with the same memory make the same plan, and by whether labels are wrong
  std::map<std::pair<Bytes, bool>, VirtualDevice::SharedState> shared_;
  std::map<std::size_t, Liar> liars_;                // by device
  std::vector<std::unique_ptr<Incarnation>> stays_;  // by rank
  std::vector<Condition> conditions_;                // by device
  std::vector<Absences> absences_;                   // by device, from the first on
  std::shared_ptr<const net::Members> members_ = std::make_shared<const net::Members>();
  cluster::UsageBook usage_;
  Instant sampled_;
  std::vector<std::string> events_;
  std::optional<Report> result_;
  Status led_;
  bool is_over_ = false, is_late_ = false;
};

}  // namespace mangrove::sim
