#include "mangrove/infer/networks.h"

#include <algorithm>
#include <optional>
#include <set>

#include "mangrove/base/log.h"
#include "mangrove/base/printable.h"
#include "mangrove/data/data_folder.h"
#include "mangrove/data/sha256.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/graph/wide_layers.h"
#include "mangrove/infer/strategy_row.h"
#include "mangrove/infer/tags.h"
#include "mangrove/net/payload.h"
#include "mangrove/privacy/split.h"

namespace mangrove::infer {
namespace {

constexpr double kMostPatience = 60;  // timeouts

constexpr Bytes kPart = KiB(256);
constexpr std::size_t kPartsAtOnce = 4;  // on their way to a node: what a link holds while a question travels
constexpr Bytes kLargest = 4'000'000'000;
constexpr int kFetchAttempts = 3;

bool is_sha256(const std::string& text) {
  return text.size() == 64 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string_view bytes_of(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.data()), static_cast<std::size_t>(tensor.bytes())};
}

bool ends_job(const net::Message& message) {
  Command command;
  return command.ParseFromString(message.payload) && command.kind() == Command::END;
}

/// A network on its way here.
class Incoming {
 public:
  Incoming(net::Endpoint& endpoint, std::string sha256) : endpoint_(endpoint), sha256_(std::move(sha256)) {}

  void begin() {
    outstanding_ = {0};
    ask_again();
  }
  void ask_again() {
    for (const Bytes offset : outstanding_) ask(offset);
  }
  bool is_complete() const { return size_ && outstanding_.empty(); }
  std::string take_content() { return std::move(content_); }
  const std::string& refusal() const { return refusal_; }  // empty: there is none

  /// False: it is none that was asked for.
  bool take(const std::string& payload) {
    const Result<net::PayloadParts> parts = net::split_payload(payload);
    NetworkPart part;
    if (!parts.ok() || !part.ParseFromArray(parts->header.data(), static_cast<int>(parts->header.size()))) return false;
    if (part.sha256() == sha256_ && outstanding_.contains(part.offset())) refusal_ = cut_short(part.refusal());
    const Bytes size = part.size(), offset = part.offset();
    const bool fits = part.sha256() == sha256_ && outstanding_.contains(offset) && size == size_.value_or(size) &&
                      size > offset && size <= kLargest &&
                      static_cast<Bytes>(parts->body.size()) == std::min(kPart, size - offset);
    if (!fits) return false;
    if (!size_) content_.resize(static_cast<std::size_t>(size));
    size_ = size;
    content_.replace(static_cast<std::size_t>(offset), parts->body.size(), parts->body);
    outstanding_.erase(offset);
    for (; outstanding_.size() < kPartsAtOnce && asked_ < size; asked_ += kPart) {
      outstanding_.insert(asked_);
      ask(asked_);
    }
    return true;
  }

 private:
  void ask(Bytes offset) {
    FromNode message;
    message.mutable_need_network()->set_sha256(sha256_);
    message.mutable_need_network()->set_offset(offset);
    endpoint_.send(0, kFromNodeTag, message.SerializeAsString());
  }

  net::Endpoint& endpoint_;
  const std::string sha256_;
  std::optional<Bytes> size_;    // told with the first part
  std::set<Bytes> outstanding_;  // offsets of parts that were asked for
  Bytes asked_ = kPart;          // the next one
  std::string content_;
  std::string refusal_;
};

}  // namespace

Status set_network(const Graph& network, InferJob& job) {
  constexpr Bytes kLeastWeights = KiB(16);  // smaller ones are not worth a message of their own
  constexpr std::size_t kMostOutline = 8'000'000;
  MG_TRY(const Strategy* strategy, find_strategy(job.strategy()));
  if (!strategy->takes_requests) {
    job.set_model(encode_onnx(network));
    return {};
  }
  MG_TRY(const Graph parts, split_wide_layers(network, kWidestLayer));
  job.set_model(encode_onnx(parts));
  std::string outline =
      encode_onnx_outline(parts, kLeastWeights, [](const Tensor& weights) { return data::sha256(bytes_of(weights)); });
  if (outline.size() <= kMostOutline) job.set_outline(std::move(outline));
  return {};
}

InferJob without_networks(InferJob job) {
  if (!job.model().empty()) job.set_model_sha256(data::sha256(job.model()));
  for (const std::string& member : job.members()) job.add_member_sha256(data::sha256(member));
  job.clear_model();
  job.clear_members();
  job.clear_bottom_models();
  job.clear_noise_seed();
  job.clear_noises();
  for (TierPart& part : *job.mutable_tiers()) {
    const Result<privacy::PrivacySetting> privacy = privacy::parse_privacy(part.privacy());
    if (!privacy.ok()) continue;  // none
    privacy::PrivacySetting told = *privacy;
    told.trained.clear();  // where the noise lies is nobody's business
    part.set_privacy(to_text(told));
  }
  return job;
}

NetworkServer::NetworkServer(const InferJob& job) {
  if (!job.model().empty()) by_sha256_[data::sha256(job.model())] = job.model();
  for (const std::string& member : job.members()) {
    const std::string sha256 = data::sha256(member);
    by_sha256_[sha256] = member;
    if (!job.tiers().empty()) of_tiers_.push_back(sha256);
  }
}

void NetworkServer::serve_weights(const Graph& network) {
  for (const std::string& name : network.parameters()) weights_.push_back(network.initializers().at(name));
  are_named_ = false;
}

void NetworkServer::name_weights() {
  for (const Tensor& weights : weights_) by_sha256_[data::sha256(bytes_of(weights))] = bytes_of(weights);
  are_named_ = true;
}

void NetworkServer::grant(net::Rank rank, std::size_t tier) {
  of_nodes_[rank] = of_tiers_.at(tier);
}

Result<std::string_view> NetworkServer::find(net::Rank rank, const NeedNetwork& need) {
  if (!are_named_ && !by_sha256_.contains(need.sha256())) name_weights();
  const auto found = by_sha256_.find(need.sha256());
  if (found == by_sha256_.end()) return make_error(Code::invalid_argument, "the job has no such network");
  const auto granted = of_nodes_.find(rank);
  if (!of_tiers_.empty() && (granted == of_nodes_.end() || granted->second != need.sha256()))
    return make_error(Code::permission_denied, "it is not the network of this node's tier");
  if (need.offset() < 0 || need.offset() >= std::ssize(found->second))
    return make_error(Code::invalid_argument, "it has no part at " + std::to_string(need.offset()));
  return found->second;
}

Status NetworkServer::answer(net::Endpoint& endpoint, net::Rank rank, const NeedNetwork& need) {
  const Result<std::string_view> network = find(rank, need);
  NetworkPart part;
  part.set_sha256(need.sha256());
  part.set_offset(need.offset());
  if (!network.ok()) {
    part.set_refusal(network.error().message);
    endpoint.send(rank, kNetworkTag, net::begin_payload(part.SerializeAsString(), 0));
    return network.error();
  }
  const std::string_view body =
      network->substr(static_cast<std::size_t>(need.offset()), static_cast<std::size_t>(kPart));
  part.set_size(std::ssize(*network));
  std::string payload = net::begin_payload(part.SerializeAsString(), body.size());
  payload += body;
  sent_ += std::ssize(body);
  endpoint.send(rank, kNetworkTag, std::move(payload));
  return {};
}

/// A simulated device keeps nothing: the folder is the computer's that simulates it, and what happens in a world must
/// not depend on what was run there before.
fs::path NetworkFetch::cache_folder(const job::RoleContext& context) {
  if (context.device.is_simulated()) return {};
  return context.data_folder.path().empty() ? fs::path() : context.data_folder.path() / data::kNetworksFolder;
}

Result<std::string> NetworkFetch::get(const std::string& sha256, const NetworkCache& cache) {
  if (!is_sha256(sha256)) return make_error(Code::invalid_argument, "model: '" + sha256 + "' is no SHA-256");
  if (std::optional<std::string> kept = cache.find(sha256)) return std::move(*kept);
  for (int attempt = 0; attempt < kFetchAttempts; ++attempt) {
    MG_TRY(std::string network, receive(sha256));
    if (data::sha256(network) != sha256) continue;
    const Status kept = cache.keep(sha256, network);  // a full card is no reason not to work
    if (!kept.ok()) log_warn("the network is not kept for the next time", {{"message", kept.error().message}});
    return network;
  }
  return make_error(Code::data_loss, "model: what the leader sent does not have the SHA-256 " + sha256);
}

net::Message NetworkFetch::next_command() {
  net::Message command = std::move(commands_.front());
  commands_.pop_front();
  return command;
}

Result<std::string> NetworkFetch::receive(const std::string& sha256) {
  Incoming incoming(context_.endpoint, sha256);
  incoming.begin();
  Seconds patience = timeout_;  // grows: what was asked for twice comes twice, and holds up what comes next
  Deadline again = context_.clock.after(patience);
  while (!incoming.is_complete()) {
    Result<net::Message> message = context_.endpoint.recv_any({0}, {kNetworkTag, kCommandTag}, again);
    if (message.ok() && message->tag == kNetworkTag) {
      if (incoming.take(message->payload)) again = context_.clock.after(patience);
      if (!incoming.refusal().empty())
        return make_error(Code::permission_denied, "model: the leader does not give it away: " + incoming.refusal());
    } else if (message.ok()) {
      commands_.push_back(std::move(*message));
      if (ends_job(commands_.back())) return make_error(Code::cancelled, "the job has ended");
    } else if (message.code() != Code::deadline_exceeded) {
      return message.error();
    }
    if (context_.clock.now() < again) continue;
    incoming.ask_again();
    patience = std::min(2 * patience, kMostPatience * timeout_);
    again = context_.clock.after(patience);
  }
  return incoming.take_content();
}

}  // namespace mangrove::infer
