#include "mangrove/cluster/open_calls.h"

#include <grpcpp/server_context.h>

namespace mangrove::cluster {

OpenCalls::Call::Call(OpenCalls& calls, grpc::ServerContext* context, Deadline first_message)
    : calls_(calls), context_(context) {
  MutexLock lock(calls_.mutex_);
  calls_.open_[context] = first_message;
  if (calls_.closed_) context_->TryCancel();
}

OpenCalls::Call::~Call() {
  MutexLock lock(calls_.mutex_);
  calls_.open_.erase(context_);
}

void OpenCalls::Call::greeted() {
  MutexLock lock(calls_.mutex_);
  calls_.open_[context_] = Instant::never();
}

void OpenCalls::Call::cut() {
  context_->TryCancel();
}

void OpenCalls::cut_mute(Instant now) {
  MutexLock lock(mutex_);
  for (const auto& [context, first_message] : open_)
    if (now > first_message) context->TryCancel();
}

void OpenCalls::cut_where(const std::function<bool(const grpc::ServerContext&)>& is_to_end) {
  MutexLock lock(mutex_);
  for (const auto& [context, first_message] : open_)
    if (is_to_end(*context)) context->TryCancel();
}

void OpenCalls::cut_all() {
  MutexLock lock(mutex_);
  closed_ = true;
  for (const auto& [context, first_message] : open_) context->TryCancel();
}

}  // namespace mangrove::cluster
