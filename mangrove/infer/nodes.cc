#include "mangrove/infer/nodes.h"

#include <algorithm>
#include <cmath>

#include "mangrove/base/log.h"
#include "mangrove/infer/tags.h"

namespace mangrove::infer {
namespace {

constexpr Seconds kPollInterval = 0.2;  // how often the stop token is looked at
constexpr double kLeastCpu = 1e-4;      // of a core, that a node can have
constexpr int kMostAtOnce = 1000;       // messages, so that a node that never stops talking holds nobody up
constexpr double kPatience = 3;         // timeouts without any node before the job fails

/// What must be the same on all nodes.
std::string data_of(const Hello& hello) {
  Hello data = hello;
  data.clear_host();
  data.clear_cores();
  data.clear_threads();
  data.clear_cpu();
  return data.SerializeAsString();
}

std::string describe(const Hello& hello) {
  return std::to_string(hello.samples()) + " samples of " + std::to_string(hello.classes_size()) + " classes";
}

}  // namespace

Nodes::Nodes(net::RoleContext& context, Reports& reports, Networks networks, Seconds timeout)
    : context_(context),
      reports_(reports),
      networks_(std::move(networks)),
      last_request_(context.clock.now()),
      timeout_(timeout),
      last_failure_(make_error(Code::unavailable, "no node is left")) {
  for (net::Rank rank = 1; rank < context.endpoint.size(); ++rank)
    nodes_[rank].next_ping = context.clock.after(timeout);
}

void Nodes::set_data(Hello data) {
  reference_ = std::move(data);
  has_reference_ = takes_without_data_ = true;
}

Result<Hello> Nodes::gather() {
  const Instant start = context_.clock.now();
  while (!has_gathered(start)) {
    MG_RETURN_IF_ERROR(check_patience(start));
    MG_RETURN_IF_ERROR(next(Instant::never()));
  }
  choose_reference();
  if (has_reference_) return reference_;
  for (const auto& [rank, node] : nodes_)
    if (node.failure) return *node.failure;
  return make_error(Code::failed_precondition, "no node has the data set");
}

bool Nodes::has_gathered(Instant since) const {
  const net::RankSet ranks = ranks_not_out();
  const auto has_said = [&](net::Rank rank) { return nodes_.at(rank).said_hello; };
  const auto tells_of_data = [&](net::Rank rank) {
    return has_said(rank) && (has_reference_ || !hello(rank).without_data());
  };
  if (!ranks.empty() && std::ranges::all_of(ranks, has_said)) return true;
  return std::ranges::any_of(ranks, tells_of_data) && context_.clock.now() - last_sign(since) >= timeout_;
}

/// The data that most nodes that have any have; among equals that of the lowest rank.
void Nodes::choose_reference() {
  std::map<std::string, int> votes;
  int most = 0;
  const auto votes_too = [](const Node& node) { return node.said_hello && !node.hello.without_data(); };
  for (const auto& [rank, node] : nodes_) {
    if (votes_too(node)) most = std::max(most, ++votes[data_of(node.hello)]);
  }
  for (const auto& [rank, node] : nodes_) {
    if (has_reference_ || !votes_too(node) || votes[data_of(node.hello)] < most) continue;
    reference_ = node.hello;
    has_reference_ = true;
  }
  for (const auto& [rank, node] : nodes_) {
    if (node.state == State::starting && node.said_hello) admit(rank);
  }
}

Result<net::RankSet> Nodes::wait_usable() {
  const Instant start = context_.clock.now();
  while (usable().empty()) {
    MG_RETURN_IF_ERROR(check_patience(start));
    MG_RETURN_IF_ERROR(next(Instant::never()));
  }
  return usable();
}

/// Of life, while nodes fetch a network, which can take long on a slow link.
Instant Nodes::last_sign(Instant since) const {
  return std::max(since, last_request_);
}

Status Nodes::check_patience(Instant since) const {
  const Seconds waited = context_.clock.now() - last_sign(since);
  if (waited <= kPatience * timeout_) return {};
  const std::string who = takes_without_data_ && !has_reference_ ? "no node with the data set" : "no node";
  return make_error(Code::unavailable, who + " has said hello for " + format_seconds(waited) +
                                           "; answer_timeout_s is " + format_seconds(timeout_));
}

net::RankSet Nodes::usable() const {
  net::RankSet ranks;
  for (const auto& [rank, node] : nodes_) {
    if (node.state == State::usable) ranks.push_back(rank);
  }
  return ranks;
}

net::RankSet Nodes::ranks_not_out() const {
  net::RankSet ranks;
  for (const auto& [rank, node] : nodes_) {
    if (node.state != State::out) ranks.push_back(rank);
  }
  return ranks;
}

void Nodes::send(net::Rank rank, const Command& command) {
  context_.endpoint.send(rank, kCommandTag, command.SerializeAsString());
}

Result<std::optional<Nodes::Said>> Nodes::next(Deadline deadline) {
  std::optional<Said> nothing;
  heard_ = false;
  if (context_.stop.stop_requested()) return make_error(Code::cancelled, "stopped");
  ping_starting();
  const net::RankSet ranks = ranks_not_out();
  if (ranks.empty()) return last_failure_;
  const Deadline poll = context_.clock.after(kPollInterval);
  net::RankSet from = ranks;
  from.push_back(0);  // says that a frame has come
  Result<net::Message> message = context_.endpoint.recv_any(from, {kFromNodeTag, kFrameTag}, std::min(deadline, poll));
  if (!message.ok()) {
    if (message.code() == Code::cancelled) return message.error();
    if (message.code() == Code::unavailable) drop_gone();
    return nothing;
  }
  heard_ = true;
  if (message->tag == kFrameTag) return nothing;
  Said said{message->from, {}};
  if (!said.message.ParseFromString(message->payload)) {
    log_warn("message cannot be read", {{"rank", said.rank}, {"bytes", message->payload.size()}});
    return nothing;
  }
  if (said.message.has_need_network()) {
    const Status answered = networks_.answer(context_.endpoint, said.rank, said.message.need_network());
    if (answered.ok()) {
      last_request_ = context_.clock.now();
    } else {
      log_warn("a node asks for a network that it does not get",
               {{"node", reports_.node(said.rank)}, {"message", answered.error().message}});
    }
    return nothing;
  }
  if (said.message.has_hello()) {
    take_hello(said.rank, said.message.hello());
    return nothing;
  }
  return std::optional<Said>(std::move(said));
}

Result<std::vector<Nodes::Said>> Nodes::all(Deadline deadline) {
  std::vector<Said> all;
  for (int i = 0; i < kMostAtOnce; ++i) {
    Result<std::optional<Said>> said = next(deadline);
    if (!said.ok() && all.empty()) return said.error();
    if (!said.ok()) break;  // it is said again
    if (*said) all.push_back(std::move(**said));
    if (!heard_) break;
    deadline = context_.clock.now();
  }
  return all;
}

void Nodes::take_hello(net::Rank rank, const Hello& hello) {
  if (hello.code() != 0) {
    const bool known = hello.code() >= 1 && hello.code() <= static_cast<int>(Code::data_loss);
    leave_out(rank, make_error(known ? static_cast<Code>(hello.code()) : Code::internal,
                               reports_.node(rank) + ": " + hello.message()));
    return;
  }
  Node& node = nodes_.at(rank);
  node.hello = hello;
  node.hello.set_cores(std::max(1, hello.cores()));
  node.hello.set_threads(std::max(1, hello.threads()));
  if (!std::isfinite(hello.cpu()) || hello.cpu() < kLeastCpu) node.hello.set_cpu(node.hello.cores());
  node.said_hello = true;
  if (has_reference_ && node.state == State::starting) admit(rank);
}

bool Nodes::has_data(net::Rank rank) const {
  return data_of(hello(rank)) == data_of(reference_);
}

void Nodes::admit(net::Rank rank) {
  Node& node = nodes_.at(rank);
  if (takes_without_data_ || has_data(rank)) {
    node.state = State::usable;
    return;
  }
  leave_out(rank, make_error(Code::failed_precondition,
                             reports_.node(rank) + ": its data set differs: " + describe(node.hello) +
                                 ", the others have " + describe(reference_) + " (names and sample shape count too)"));
}

void Nodes::leave_out(net::Rank rank, const Error& error) {
  nodes_.at(rank).state = State::out;
  nodes_.at(rank).said_hello = false;
  nodes_.at(rank).failure = last_failure_ = error;
  reports_.node_left_out(rank, error.message);
}

void Nodes::drop_gone() {
  const net::Members members = context_.endpoint.members();
  for (auto& [rank, node] : nodes_) {
    if (node.state == State::out || members.alive(rank)) continue;
    node.state = State::out;
    node.said_hello = false;
    last_failure_ = make_error(Code::unavailable, "no node is left; the last one lost was " + reports_.node(rank));
  }
}

/// Its hello may have been lost on the way.
void Nodes::ping_starting() {
  const Instant now = context_.clock.now();
  for (auto& [rank, node] : nodes_) {
    if (node.state != State::starting || node.said_hello || now < node.next_ping) continue;
    node.next_ping = now + timeout_;
    Command command;
    command.set_kind(Command::PING);
    send(rank, command);
  }
}

void Nodes::end() {
  Command command;
  command.set_kind(Command::END);
  for (const auto& [rank, node] : nodes_) send(rank, command);
}

}  // namespace mangrove::infer
