#include <utility>

#include "mangrove/net/link.h"

namespace mangrove::net {

PeerStream::PeerStream(std::shared_ptr<LinkTable> table, Link& link) : table_(std::move(table)), link_(link) {
  context_.AddMetadata("mangrove-link", link.id);
  context_.set_wait_for_ready(true);  // the channel tries again by itself while the peer is not there yet
}

void PeerStream::open() {
  link_.stub->async()->Exchange(&context_, this);
  AddHold();  // writes come from another thread
  StartRead(&receipt_);
  StartCall();
}

void PeerStream::OnReadInitialMetadataDone(bool ok) {
  MutexLock lock(table_->mutex);
  if (!ok) return;
  link_.backoff = 0;
  link_.last_progress = table_->clock.now();
}

void PeerStream::OnReadDone(bool ok) {
  {
    MutexLock lock(table_->mutex);
    if (ok) {
      link_.queue.acknowledge(receipt_.sequence());
      link_.last_progress = table_->clock.now();
    } else {
      link_.state.broken = true;
    }
    table_->changed.notify_all();
  }
  if (ok) StartRead(&receipt_);
}

void PeerStream::OnWriteDone(bool ok) {
  MutexLock lock(table_->mutex);
  if (ok) {
    const Envelope& envelope = link_.state.in_flight->envelope;
    link_.state.in_flight->meter->sent(envelope.to(), envelope.tag(), envelope.ByteSizeLong());
    link_.last_progress = table_->clock.now();
  } else {
    link_.state.broken = true;
  }
  link_.state.in_flight = nullptr;
  table_->changed.notify_all();
}

void PeerStream::OnDone(const grpc::Status& status) {
  const std::shared_ptr<LinkTable> table = table_;  // as soon as `ended` can be seen, this may be freed
  MutexLock lock(table->mutex);
  link_.state.error = status.error_message();
  link_.state.refused = status.error_code() == grpc::StatusCode::PERMISSION_DENIED;
  link_.state.ended = true;
  table->changed.notify_all();
}

}  // namespace mangrove::net
