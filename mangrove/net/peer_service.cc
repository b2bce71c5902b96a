#include "mangrove/net/peer_service.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "mangrove/base/log.h"
#include "mangrove/net/credentials.h"
#include "mangrove/net/grpc_status.h"

namespace mangrove::net {
namespace {

class InboundStream;

// what the sender may have to keep, and repeat after a break
constexpr std::uint64_t kMessagesPerReceipt = 64;
constexpr Bytes kBytesPerReceipt = MiB(1);
constexpr std::size_t kLinksRemembered = 4096;
constexpr std::size_t kLinksOfOne = 64;  // of one sender, if links have certificates

/// What is known of a link, over all its streams.
struct InboundLink {
  Mutex mutex;  // before that of the job table
  std::uint64_t last_sequence MG_GUARDED_BY(mutex) = 0;
};

}  // namespace

/// The links and streams of a PeerService.
struct InboundTable {
  struct Entry {
    std::shared_ptr<InboundLink> link;
    int open_streams = 0;
    std::uint64_t last_used = 0;
  };
  Mutex mutex;
  bool closed MG_GUARDED_BY(mutex) = false;
  std::uint64_t uses MG_GUARDED_BY(mutex) = 0;
  std::map<std::string, Entry> links MG_GUARDED_BY(mutex);
  std::map<grpc::CallbackServerContext*, std::optional<Caller>> open MG_GUARDED_BY(mutex);  // streams, with the sender
  std::set<std::string> revoked MG_GUARDED_BY(mutex);                                       // serials

  /// sender: nothing if links are in plain text. prefix: with it the ids of all links of this sender begin; "": links
  /// are in plain text.
  /// errors: cancelled, resource_exhausted, permission_denied (revoked, expired).
  Result<std::shared_ptr<InboundLink>> add(const std::string& id, const std::string& prefix,
                                           const std::optional<Caller>& sender, grpc::CallbackServerContext* context);
  void remove(const std::string& id, grpc::CallbackServerContext* context);

  using Place = std::map<std::string, Entry>::iterator;
  /// Removes the link of this range that was used least recently and has no stream, to make room for another.
  /// errors: resource_exhausted (all of them have streams).
  Status forget_one(Place begin, Place end) MG_REQUIRES(mutex);
};

Status InboundTable::forget_one(Place begin, Place end) {
  const auto oldest = std::min_element(begin, end, [](const auto& a, const auto& b) {
    return std::pair(a.second.open_streams > 0, a.second.last_used) <
           std::pair(b.second.open_streams > 0, b.second.last_used);
  });
  if (oldest->second.open_streams > 0) return make_error(Code::resource_exhausted, "too many links");
  links.erase(oldest);
  return {};
}

Result<std::shared_ptr<InboundLink>> InboundTable::add(const std::string& id, const std::string& prefix,
                                                       const std::optional<Caller>& sender,
                                                       grpc::CallbackServerContext* context) {
  MutexLock lock(mutex);
  if (closed) return make_error(Code::cancelled, "shutting down");
  if (sender && revoked.contains(sender->serial))
    return make_error(Code::permission_denied, "the certificate was revoked");
  if (sender && sender->valid_to < identity::wall_now())
    return make_error(Code::permission_denied, "the certificate of this connection has expired");
  if (!links.contains(id)) {
    const Place begin = links.lower_bound(prefix);
    const Place end = std::find_if(begin, links.end(), [&](const auto& one) { return !one.first.starts_with(prefix); });
    const bool has_too_many = !prefix.empty() && static_cast<std::size_t>(std::distance(begin, end)) >= kLinksOfOne;
    if (has_too_many) {
      MG_RETURN_IF_ERROR(forget_one(begin, end));
    } else if (links.size() >= kLinksRemembered) {
      MG_RETURN_IF_ERROR(forget_one(links.begin(), links.end()));
    }
  }
  Entry& entry = links[id];
  if (!entry.link) entry.link = std::make_shared<InboundLink>();
  ++entry.open_streams;
  entry.last_used = ++uses;
  open[context] = sender;
  return entry.link;
}

void InboundTable::remove(const std::string& id, grpc::CallbackServerContext* context) {
  MutexLock lock(mutex);
  open.erase(context);
  --links.at(id).open_streams;
}

namespace {

bool well_formed(const Envelope& envelope) {
  return !envelope.job().empty() && envelope.from() >= 0 && envelope.to() >= 0 && envelope.sequence() > 0;
}

/// Receives one stream of a link until the sender closes it or it breaks. Deletes itself when gRPC is done with it.
class InboundStream final : public grpc::ServerBidiReactor<Envelope, Receipt> {
 public:
  InboundStream(std::shared_ptr<LocalEndpoints> jobs, std::shared_ptr<InboundTable> table, std::string id,
                std::shared_ptr<InboundLink> link, std::optional<std::string> sender,
                grpc::CallbackServerContext* context)
      : jobs_(std::move(jobs)),
        table_(std::move(table)),
        id_(std::move(id)),
        link_(std::move(link)),
        sender_(std::move(sender)),
        context_(context) {
    StartSendInitialMetadata();  // tells the sender that it is connected
    StartRead(&envelope_);
  }

 private:
  void OnReadDone(bool ok) override {
    const Bytes bytes = ok ? static_cast<Bytes>(envelope_.ByteSizeLong()) : 0;
    const std::uint64_t sequence = ok ? envelope_.sequence() : 0;
    if (ok) accept(static_cast<std::size_t>(bytes));
    {
      MutexLock lock(mutex_);
      received_ = std::max(received_, sequence);
      unreceipted_bytes_ += bytes;
      ++unreceipted_messages_;
      ended_ = !ok;
      answer();
    }
    if (ok) StartRead(&envelope_);
  }

  void OnWriteDone(bool /*ok*/) override {
    MutexLock lock(mutex_);
    writing_ = false;
    answer();
  }

  void OnDone() override {
    table_->remove(id_, context_);
    delete this;
  }

  /// Delivers the message unless it came before, by a former stream of the link.
  void accept(std::size_t bytes) {
    if (!well_formed(envelope_)) return log_warn("malformed message from a peer", {{"peer", context_->peer()}});
    MutexLock lock(link_->mutex);
    if (envelope_.sequence() <= link_->last_sequence) return;
    link_->last_sequence = envelope_.sequence();
    Message message{envelope_.from(), envelope_.tag(), std::move(*envelope_.mutable_payload())};
    jobs_->deliver(envelope_.job(), envelope_.to(), std::move(message), bytes, sender_);
  }

  /// Writes a receipt, or finishes, if it is time to.
  void answer() MG_REQUIRES(mutex_) {
    if (writing_ || finished_) return;
    const bool due = unreceipted_messages_ >= kMessagesPerReceipt || unreceipted_bytes_ >= kBytesPerReceipt;
    if (!due && !ended_) return;
    unreceipted_messages_ = 0;
    unreceipted_bytes_ = 0;
    receipt_.set_sequence(received_);
    if (ended_) {
      finished_ = true;
      StartWriteAndFinish(&receipt_, {}, grpc::Status::OK);
    } else {
      writing_ = true;
      StartWrite(&receipt_);
    }
  }

  const std::shared_ptr<LocalEndpoints> jobs_;
  const std::shared_ptr<InboundTable> table_;
  const std::string id_;
  const std::shared_ptr<InboundLink> link_;
  const std::optional<std::string> sender_;  // URI in the sender's certificate; nothing: links are in plain text
  grpc::CallbackServerContext* const context_;
  Envelope envelope_;  // being read

  Mutex mutex_;
  Receipt receipt_ MG_GUARDED_BY(mutex_);  // being written
  std::uint64_t received_ MG_GUARDED_BY(mutex_) = 0;
  std::uint64_t unreceipted_messages_ MG_GUARDED_BY(mutex_) = 0;
  Bytes unreceipted_bytes_ MG_GUARDED_BY(mutex_) = 0;
  bool writing_ MG_GUARDED_BY(mutex_) = false;
  bool ended_ MG_GUARDED_BY(mutex_) = false;
  bool finished_ MG_GUARDED_BY(mutex_) = false;
};

/// Turns a stream away.
class RefusedStream final : public grpc::ServerBidiReactor<Envelope, Receipt> {
 public:
  explicit RefusedStream(const grpc::Status& status) { Finish(status); }

 private:
  void OnDone() override { delete this; }
};

/// The sender's certificate. Nothing: it has shown none, or none of a node or coordinator.
std::optional<Caller> peer_of(const grpc::CallbackServerContext& context) {
  const std::optional<Caller> who = caller(context);
  if (!who || (who->subject.role != identity::Role::node && who->subject.role != identity::Role::coordinator))
    return std::nullopt;
  return who;
}

/// The link that a stream belongs to, if it says so as peer.proto asks.
std::optional<std::string> link_id(const grpc::CallbackServerContext& context) {
  const auto found = context.client_metadata().find("mangrove-link");
  if (found == context.client_metadata().end()) return std::nullopt;
  std::string id(found->second.data(), found->second.size());
  if (id.size() != 16 || id.find_first_not_of("0123456789abcdef") != std::string::npos) return std::nullopt;
  return id;
}

}  // namespace

PeerService::PeerService(std::shared_ptr<LocalEndpoints> jobs, bool asks_who)
    : jobs_(std::move(jobs)), asks_who_(asks_who), inbound_(std::make_shared<InboundTable>()) {}

PeerService::~PeerService() = default;

grpc::ServerBidiReactor<Envelope, Receipt>* PeerService::Exchange(grpc::CallbackServerContext* context) {
  const std::optional<Caller> who = asks_who_ ? peer_of(*context) : std::nullopt;
  if (asks_who_ && !who) {
    log_warn("messages from a stranger refused", {{"peer", context->peer()}});
    jobs_->refuse(Refused::caller);
    return new RefusedStream({grpc::StatusCode::PERMISSION_DENIED, "messages of jobs come from nodes alone"});
  }
  const std::optional<std::string> id = link_id(*context);
  if (!id) {
    log_warn("stream from a stranger", {{"peer", context->peer()}});
    return new RefusedStream({grpc::StatusCode::INVALID_ARGUMENT, "metadata mangrove-link: expected 16 hex digits"});
  }
  // the subject is part of the key, so that nobody can go on with the link of another sender
  const std::optional<std::string> sender = who ? std::optional(who->subject.uri()) : std::nullopt;
  const std::string prefix = sender ? *sender + " " : "";
  const std::string key = prefix + *id;
  Result<std::shared_ptr<InboundLink>> link = inbound_->add(key, prefix, who, context);
  if (!link.ok()) {
    if (link.code() == Code::resource_exhausted) jobs_->refuse(Refused::link);
    if (link.code() == Code::permission_denied) jobs_->refuse(Refused::caller);
    return new RefusedStream(to_grpc(link.error()));
  }
  return new InboundStream(jobs_, inbound_, key, std::move(*link), sender, context);
}

void PeerService::refuse(const std::set<std::string>& serials) {
  MutexLock lock(inbound_->mutex);
  inbound_->revoked.insert(serials.begin(), serials.end());
  for (const auto& [context, sender] : inbound_->open)
    if (sender && inbound_->revoked.contains(sender->serial)) context->TryCancel();
}

void PeerService::cut_expired(identity::WallTime now) {
  MutexLock lock(inbound_->mutex);
  for (const auto& [context, sender] : inbound_->open)
    if (sender && sender->valid_to < now) context->TryCancel();
}

void PeerService::shutdown() {
  MutexLock lock(inbound_->mutex);
  inbound_->closed = true;
  for (const auto& [context, sender] : inbound_->open) context->TryCancel();
}

}  // namespace mangrove::net
