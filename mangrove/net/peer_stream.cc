#include <utility>

#include "mangrove/net/link.h"

namespace mangrove::net {

PeerStream::PeerStream(std::shared_ptr<LinkTable> table, Link& link) : table_(std::move(table)), link_(link) {
  context_.AddMetadata("mangrove-link", link.id);
  context_.set_wait_for_ready(true);  // the channel tries again by itself while the peer is not there yet
}

std::shared_ptr<PeerStream> PeerStream::open(std::shared_ptr<LinkTable> table, Link& link) {
  std::shared_ptr<PeerStream> stream(new PeerStream(std::move(table), link));
  stream->self_ = stream;
  link.stub->async()->Exchange(&stream->context_, stream.get());
  stream->AddHold();  // writes come from another thread
  stream->StartRead(&stream->receipt_);
  stream->StartCall();
  return stream;
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
    link_.state.in_flight->meter->sent(link_.state.in_flight->envelope.ByteSizeLong());
    link_.last_progress = table_->clock.now();
  } else {
    link_.state.broken = true;
  }
  link_.state.in_flight = nullptr;
  table_->changed.notify_all();
}

void PeerStream::OnDone(const grpc::Status& status) {
  const std::shared_ptr<PeerStream> self = std::move(self_);  // to the end of this function
  MutexLock lock(table_->mutex);
  link_.state.ended = true;
  link_.state.error = status.error_message();
  table_->changed.notify_all();
}

}  // namespace mangrove::net
