#include "mangrove/sim/simgrid/virtual_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "mangrove/cluster/job_report.h"

namespace mangrove::sim {

namespace s4u = simgrid::s4u;

namespace {

constexpr Seconds kSilence = 3;           // of a node, after which it is lost: as of cluster::CoordinatorOptions
constexpr std::size_t kMostSampled = 64;  // devices; of more, only the sums are told
constexpr int kSamplesBeforeHalf = 200;

}  // namespace

VirtualCluster::VirtualCluster(const cluster::JobSpec& job, const World& world, SimulationOptions options)
    : job_(job),
      job_of_nodes_(cluster::job_of_nodes(job).value_or(job)),
      world_(world),
      options_(std::move(options)),
      network_(world, timeline_, options_.seed),
      conditions_(world.devices.size()) {
  for (std::size_t device = 1; device < world.devices.size(); ++device) {
    if (const std::string& lies = world.devices[device].lies; !lies.empty())
      liars_.emplace(std::piecewise_construct, std::tuple(device), std::tuple(lies, options_.seed + device));
  }
}

Status VirtualCluster::run() {
  change_members([&](net::Members& members) {
    for (const Device& device : world_.devices)
      members.all.push_back({static_cast<net::Rank>(members.all.size()), device.name, true});
  });
  timeline_.start(network_.host(0));
  for (std::size_t device = 0; device < world_.devices.size(); ++device) enter(device);
  for (const Fault& fault : options_.faults)
    timeline_.at({fault.at}, [this, one = std::make_shared<const Fault>(fault)] { begin(one); });
  for (std::size_t device = 1; device < world_.devices.size(); ++device) {
    absences_.emplace_back(world_, device, options_.seed);
    await_absence(device);
  }
  if (options_.limit > 0) {
    timeline_.at({options_.limit}, [this] {
      if (is_over_) return;  // devices may still end what they were computing
      is_late_ = true;
      stays_[0]->endpoint->cancel();
    });
  }
  if (stays_.size() <= kMostSampled) keep_sampling(1);
  for (const auto& stay : stays_) play(*stay);
  s4u::Engine::get_instance()->run();
  if (!is_over_) return make_error(Code::internal, "the simulated devices wait for one another for ever");
  if (is_late_)
    return make_error(Code::deadline_exceeded,
                      fmt::format("the job was not done within {} of virtual time", format_seconds(options_.limit)));
  MG_RETURN_IF_ERROR(std::move(led_));
  if (!result_) return {};
  MG_TRY(result_->json, cluster::complete_result(result_->json, usage_.overall(), events_));
  options_.report(std::move(*result_));
  return {};
}

/// What makes the device lie. Null: it is honest.
Liar* VirtualCluster::liar(std::size_t device) {
  const auto found = liars_.find(device);
  return found == liars_.end() ? nullptr : &found->second;
}

bool VirtualCluster::has_wrong_labels(std::size_t device) {
  return liar(device) != nullptr && liar(device)->is_in_data();
}

/// Takes the next rank, which the members know already.
VirtualCluster::Incarnation& VirtualCluster::enter(std::size_t device) {
  const auto rank = static_cast<net::Rank>(stays_.size());
  auto endpoint = std::make_unique<SimEndpoint>(
      rank, members_, [this, rank](net::Rank to, net::Message message) { post(rank, to, std::move(message)); },
      options_.size_of, [this, rank](std::size_t bytes) { handle(*stays_[static_cast<std::size_t>(rank)], bytes); });
  const Device& its = world_.devices[device];
  const std::string& name = its.name;
  stays_.push_back(std::make_unique<Incarnation>());
  Incarnation& stay = *stays_.back();
  stay.device = device;
  stay.rank = rank;
  stay.endpoint = std::move(endpoint);
  stay.machine = std::make_unique<VirtualDevice>(name, its.memory, options_.computes,
                                                 shared_[{its.memory, has_wrong_labels(device)}],
                                                 [this, &stay](double flops) { compute(stay, flops); });
  conditions_[device].rank = rank;
  if (rank > 0) usage_.add(static_cast<cluster::MemberId>(rank), name, {}, clock_.now());
  log("joined", fmt::format(R"("rank":{},"node":"{}")", rank, name));
  return stay;
}

void VirtualCluster::play(Incarnation& stay) {
  const std::string name = fmt::format("rank-{}", stay.rank);
  stay.actor = s4u::Actor::create(name, network_.host(stay.device), [this, &stay] {
    if (stay.rank == 0) return lead(stay);
    job::RoleContext context = context_of(stay);
    const cluster::RoleMain role = has_wrong_labels(stay.device) ? with_flipped_labels(options_.play) : options_.play;
    const Status played = cluster::run_role_guarded(role, job_of_nodes_, context);
    stay.endpoint->flush();
    stay.has_ended = true;
    log("role_ended",
        fmt::format(R"("rank":{},"status":"{}")", stay.rank, played.ok() ? "ok" : code_name(played.code())));
    if (!is_over_ && stay.is_alive && !played.ok()) lose(stay, played.error().message);
  });
}

void VirtualCluster::lead(Incarnation& stay) {
  job::RoleContext context = context_of(stay);
  context.stop = options_.stop;
  context.report = [this](Report report) { on_report(std::move(report)); };
  led_ = cluster::run_role_guarded(options_.play, job_, context);
  stay.endpoint->flush();
  sample();
  stay.has_ended = is_over_ = true;
  log("job_ended", fmt::format(R"("status":"{}")", led_.ok() ? "ok" : code_name(led_.code())));
  for (std::size_t rank = 0; rank < stays_.size(); ++rank) {  // others run meanwhile, and may join
    Incarnation& other = *stays_[rank];
    other.endpoint->cancel();
    if (!other.has_ended && other.actor != nullptr) other.actor->resume();
  }
}

job::RoleContext VirtualCluster::context_of(Incarnation& stay) {
  job::RoleContext context{.endpoint = *stay.endpoint,
                           .clock = clock_,
                           .device = *stay.machine,
                           .data_folder = options_.data_folder,
                           .threads = 1,
                           .stop = {},
                           .report = [](Report) {}};
  context.step_done = [&stay](const job::StepTimes& times) { stay.steps.add(times); };
  return context;
}

void VirtualCluster::compute(Incarnation& stay, double flops) {
  stay.endpoint->flush();
  if (!stay.is_alive || flops <= 0) return;
  const Instant began = clock_.now();
  s4u::this_actor::execute(flops * options_.flops_scale);
  stay.machine->add_computed(clock_.now() - began);
}

void VirtualCluster::handle(Incarnation& stay, std::size_t bytes) {
  const Device& device = world_.devices[stay.device];
  if (!stay.is_alive || device.handling <= 0) return;
  const Instant began = clock_.now();
  s4u::this_actor::execute(static_cast<double>(bytes) / device.handling *
                           device.flops);  // a straggler is slow in this too
  stay.machine->add_computed(clock_.now() - began);
}

void VirtualCluster::post(net::Rank from, net::Rank to, net::Message message) {
  const auto& sender = *stays_[static_cast<std::size_t>(from)];
  const auto& receiver = *stays_[static_cast<std::size_t>(to)];
  if (!sender.is_alive || !receiver.is_alive) return;
  if (from == to) return arrive(to, std::move(message));
  if (Liar* const liar_there = liar(sender.device)) liar_there->forge(message);
  const std::size_t bytes = options_.size_of(message);
  // std::function copies
  network_.send(
      sender.device, receiver.device, bytes,
      [this, to, held = std::make_shared<net::Message>(std::move(message))] { arrive(to, std::move(*held)); });
}

void VirtualCluster::arrive(net::Rank to, net::Message message) {
  Incarnation& receiver = *stays_[static_cast<std::size_t>(to)];
  if (!receiver.is_alive || !stays_[static_cast<std::size_t>(message.from)]->is_alive) return;
  log("message", fmt::format(R"("from":{},"to":{},"purpose":"{}","bytes":{})", message.from, to,
                             net::purpose_name(net::purpose_of(message.tag)), options_.size_of(message)));
  receiver.endpoint->deliver(std::move(message));
}

void VirtualCluster::begin(const FaultPtr& what) {
  if (is_over_) return;
  const Fault& fault = *what;
  auto group = std::make_shared<Network::Group>(world_.devices.size());
  for (const std::size_t device : fault.devices) (*group)[device] = true;
  if (fault.kind == FaultKind::partition) network_.part(group);
  for (const std::size_t device : fault.devices) {
    Condition& condition = conditions_[device];
    Incarnation& stay = stay_of(device);
    log(fault_name(fault.kind),
        fmt::format(R"("node":"{}","for_s":{:.9f})", world_.devices[device].name, fault.duration));
    switch (fault.kind) {
      case FaultKind::crash:
        ++condition.down;
        if (!stay.has_ended) stay.actor->resume();
        if (stay.is_alive) lose(stay, "crashed");
        stay.endpoint->cancel();
        break;
      case FaultKind::freeze:
        if (condition.frozen++ == 0 && condition.down == 0 && !stay.has_ended) stay.actor->suspend();
        go_silent(device);
        break;
      case FaultKind::partition:
        ++condition.cut;
        go_silent(device);
        break;
      case FaultKind::slow_link:
        network_.scale_links(device, 1 / fault.factor);
        break;
    }
  }
  if (fault.duration > 0) timeline_.at(clock_.after(fault.duration), [this, what, group] { end(*what, group); });
}

/// Drawn when the one before has begun: nobody knows how long the job goes on.
void VirtualCluster::await_absence(std::size_t device) {
  const std::optional<Fault> next = absences_[device - 1].next();
  if (!next) return;
  timeline_.at({next->at}, [this, device, absence = std::make_shared<const Fault>(*next)] {
    begin(absence);
    if (!is_over_) await_absence(device);
  });
}

void VirtualCluster::end(const Fault& fault, const std::shared_ptr<const Network::Group>& group) {
  if (is_over_) return;
  if (fault.kind == FaultKind::partition) network_.join(group);
  for (const std::size_t device : fault.devices) {
    Condition& condition = conditions_[device];
    Incarnation& stay = stay_of(device);
    log("over", fmt::format(R"("fault":"{}","node":"{}")", fault_name(fault.kind), world_.devices[device].name));
    switch (fault.kind) {
      case FaultKind::crash:
        --condition.down;
        break;
      case FaultKind::freeze:
        if (--condition.frozen == 0 && !stay.has_ended) stay.actor->resume();
        break;
      case FaultKind::partition:
        --condition.cut;
        break;
      case FaultKind::slow_link:
        network_.scale_links(device, fault.factor);
        break;
    }
    come_back(device);
  }
}

void VirtualCluster::go_silent(std::size_t device) {
  Condition& condition = conditions_[device];
  if (condition.is_lost != Deadline::never()) return;
  condition.is_lost = clock_.after(kSilence);
  timeline_.at(condition.is_lost, [this, device, when = condition.is_lost] {
    const bool was_silent = conditions_[device].is_lost == when;
    if (was_silent && stay_of(device).is_alive) lose(stay_of(device), "silent");
  });
}

/// If nothing is the matter with it any more. A rank that was lost is gone: the device joins anew, unless the job is
/// inference, which is planned for the devices that there are.
void VirtualCluster::come_back(std::size_t device) {
  Condition& condition = conditions_[device];
  if (!condition.is_silent()) condition.is_lost = Deadline::never();
  if (condition.is_silent() || condition.down > 0 || is_over_ || stay_of(device).is_alive) return;
  stay_of(device).endpoint->cancel();
  if (!job_.has_train()) return;
  change_members([&](net::Members& members) {
    members.all.push_back({static_cast<net::Rank>(stays_.size()), world_.devices[device].name, true});
  });
  Incarnation& stay = enter(device);  // before others learn of it and send to it
  tell_members();
  event(cluster::kNodeJoined, stay, "");
  if (is_over_) stay.endpoint->cancel();  // meanwhile
  play(stay);
}

void VirtualCluster::lose(Incarnation& stay, const std::string& why) {
  stay.is_alive = false;
  change_members([&](net::Members& members) { members.all[static_cast<std::size_t>(stay.rank)].alive = false; });
  usage_.set_state(static_cast<cluster::MemberId>(stay.rank), "lost");
  event(cluster::kNodeLost, stay, why);
  tell_members();
}

/// All endpoints share the list: of many devices it is long.
void VirtualCluster::change_members(const std::function<void(net::Members&)>& change) {
  net::Members changed = *members_;
  change(changed);
  ++changed.version;
  members_ = std::make_shared<const net::Members>(std::move(changed));
}

void VirtualCluster::tell_members() {
  for (std::size_t rank = 0; rank < stays_.size(); ++rank) {  // others run meanwhile, and may join
    if (stays_[rank]->is_alive) stays_[rank]->endpoint->set_members(members_);
  }
}

void VirtualCluster::sample() {
  const Instant now = clock_.now();
  const Seconds passed = now - sampled_;
  sampled_ = now;
  for (const auto& stay : stays_) {
    if (stay->rank == 0 || !stay->is_alive) continue;
    const net::Traffic traffic = stay->endpoint->traffic();
    cluster::ResourceUse use;
    const Seconds computed =
        stay->machine->computed() - std::exchange(stay->computed_before, stay->machine->computed());
    use.set_cpu_percent(passed > 0 ? static_cast<float>(100 * computed / passed) : 0.0f);
    use.set_sent_bytes(traffic.sent_bytes);
    use.set_received_bytes(traffic.received_bytes);
    *use.mutable_steps() = stay->steps.use(now);
    usage_.sample(static_cast<cluster::MemberId>(stay->rank), use, now);
  }
}

/// Ever less often: a long run has no more to show than a short one.
void VirtualCluster::keep_sampling(Seconds interval) {
  const Seconds next = clock_.now().seconds > kSamplesBeforeHalf * interval ? 2 * interval : interval;
  timeline_.at(clock_.after(next), [this, next] {
    if (is_over_) return;
    sample();
    options_.report(cluster::nodes_report(usage_.now(), usage_.take_samples(), "sim", {}));
    keep_sampling(next);
  });
}

void VirtualCluster::on_report(Report report) {
  if (report.kind == ReportKind::result) {
    result_ = std::move(report);
    return;
  }
  if (report.kind == ReportKind::event) events_.push_back(report.json);
  if (report.kind == ReportKind::event || report.kind == ReportKind::epoch)
    log(report_kind_name(report.kind), R"("report":)" + report.json);
  options_.report(std::move(report));
}

void VirtualCluster::event(const cluster::NodeEventKind& kind, const Incarnation& stay, const std::string& message) {
  on_report(cluster::NodeEvent(kind, world_.devices[stay.device].name, clock_.now().seconds, message).report());
}

void VirtualCluster::log(const std::string& name, const std::string& rest) {
  options_.log(fmt::format(R"({{"time_s":{:.9f},"event":"{}",{}}})", clock_.now().seconds, name, rest));
}

}  // namespace mangrove::sim
