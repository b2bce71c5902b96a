#include "mangrove/infer/node_roster.h"

#include <algorithm>
#include <cmath>

#include "mangrove/base/check.h"
#include "mangrove/base/log.h"
#include "mangrove/base/printable.h"
#include "mangrove/infer/tags.h"
#include "mangrove/job/sample_count.h"
#include "mangrove/plan/layers.h"

namespace mangrove::infer {
namespace {

constexpr Seconds kPollInterval = 0.2;  // how often the stop token is looked at
constexpr double kLeastCpu = 1e-4;      // of a core, that a node can have
constexpr int kMostAtOnce = 1000;       // messages, so that a node that never stops talking holds nobody up

/// What must be the same on all nodes.
std::string data_of(const Hello& hello) {
  Hello data = hello;
  data.clear_host();
  data.clear_cores();
  data.clear_threads();
  data.clear_cpu();
  data.clear_memory();
  data.clear_without_network();
  return data.SerializeAsString();
}

/// Checks what a node says of its data set, since memory is taken for as many samples and classes.
Status check(const Hello& hello) {
  constexpr Bytes kBytesPerSample = 64;  // its answers and its class
  MG_RETURN_IF_ERROR(job::check_sample_count(hello.samples(), kBytesPerSample).context("its data set"));
  const auto is_coarse = [&](std::int32_t c) { return c >= 0 && c < hello.coarse_classes_size(); };
  if (std::ranges::all_of(hello.coarse_of_class(), is_coarse)) return {};
  return make_error(Code::invalid_argument, "its data set has a class above its classes that it does not name");
}

job::Introduction introduction(const Hello& hello) {
  return {data_of(hello),
          std::to_string(hello.samples()) + " samples of " + std::to_string(hello.classes_size()) + " classes",
          !hello.without_data()};
}

}  // namespace

NodeRoster::NodeRoster(job::RoleContext& context, Reports& reports, NetworkServer networks, Seconds timeout)
    : context_(context),
      reports_(reports),
      networks_(std::move(networks)),
      roster_(context, *this, {"node", "answer_timeout_s"}, timeout) {}

void NodeRoster::set_data(const Hello& data) {
  roster_.set_data(introduction(data));
}

Result<Hello> NodeRoster::gather() {
  MG_TRY(const job::Introduction* const chosen, roster_.gather([this] { return next(Instant::never()); }));
  Hello data;
  if (chosen != nullptr) {
    MG_CHECK(data.ParseFromString(chosen->data));
    return data;
  }
  for (const net::Rank rank : roster_.all())
    if (failure(rank)) return *failure(rank);
  return make_error(Code::failed_precondition, "no node has the data set");
}

Result<net::RankSet> NodeRoster::wait_usable() {
  roster_.begin_waiting();
  while (usable().empty()) {
    MG_RETURN_IF_ERROR(roster_.check_patience());
    MG_RETURN_IF_ERROR(next(Instant::never()));
  }
  return usable();
}

void NodeRoster::send(net::Rank rank, const Command& command) {
  context_.endpoint.send(rank, kCommandTag, command.SerializeAsString());
}

Result<std::optional<NodeRoster::Said>> NodeRoster::next(Deadline deadline) {
  std::optional<Said> nothing;
  heard_ = false;
  if (context_.stop.stop_requested()) return make_error(Code::cancelled, "stopped");
  roster_.ask_the_silent();
  MG_RETURN_IF_ERROR(roster_.check_left());
  const Deadline poll = context_.clock.after(kPollInterval);
  net::RankSet from = roster_.heard();
  from.push_back(0);  // says that a frame has come
  Result<net::Message> message = context_.endpoint.recv_any(from, {kFromNodeTag, kFrameTag}, std::min(deadline, poll));
  if (!message.ok()) {
    if (message.code() == Code::cancelled) return message.error();
    if (message.code() == Code::unavailable) roster_.drop_gone();
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
    answer_need(said.rank, said.message.need_network());
    return nothing;
  }
  if (said.message.has_hello()) {
    take_hello(said.rank, std::move(*said.message.mutable_hello()));
    return nothing;
  }
  return std::optional<Said>(std::move(said));
}

Result<std::vector<NodeRoster::Said>> NodeRoster::all(Deadline deadline) {
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

/// Nodes that fetch a network, which can take long on a slow link, are alive.
void NodeRoster::answer_need(net::Rank rank, const NeedNetwork& need) {
  const Status answered = networks_.answer(context_.endpoint, rank, need);
  if (answered.ok()) {
    roster_.hear(rank);
    roster_.begin_waiting();
  } else {
    log_warn("a node asks for a network that it does not get",
             {{"node", reports_.node(rank)}, {"message", answered.error().message}});
  }
}

void NodeRoster::take_hello(net::Rank rank, Hello hello) {
  if (hello.code() != 0) return roster_.leave_out(rank, job::failure_in_hello(hello.code(), hello.message()));
  if (const Status checked = check(hello); !checked.ok()) return roster_.leave_out(rank, checked.error());
  hello.set_cores(std::max(1, hello.cores()));
  hello.set_threads(std::max(1, hello.threads()));
  if (!std::isfinite(hello.cpu()) || hello.cpu() < kLeastCpu) hello.set_cpu(hello.cores());
  if (!plan::is_size(hello.memory())) hello.set_memory(0);
  hello.set_host(cut_short(hello.host()));
  job::Introduction said = introduction(hello);
  hellos_[rank] = std::move(hello);
  roster_.take_hello(rank, std::move(said));
}

void NodeRoster::ask_for_hello(net::Rank rank) {
  Command command;
  command.set_kind(Command::PING);
  send(rank, command);
}

void NodeRoster::end() {
  Command command;
  command.set_kind(Command::END);
  for (const net::Rank rank : roster_.all()) send(rank, command);
}

}  // namespace mangrove::infer
