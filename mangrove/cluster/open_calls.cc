#include "mangrove/cluster/open_calls.h"

#include <grpcpp/server_context.h>

#include <algorithm>

namespace mangrove::cluster {

OpenCalls::Call::Call(OpenCalls& calls, grpc::ServerContext* context, Deadline first_message)
    : calls_(calls), context_(context) {
  MutexLock lock(calls_.mutex_);
  calls_.open_[context] = {first_message};
  if (calls_.closed_) context_->TryCancel();
}

OpenCalls::Call::~Call() {
  MutexLock lock(calls_.mutex_);
  calls_.open_.erase(context_);
}

Status OpenCalls::Call::take(const std::string& who, const std::string& serial, identity::WallTime valid_to) {
  MutexLock lock(calls_.mutex_);
  const Limits& limits = calls_.limits_;
  if (calls_.open_.size() > limits.all)
    return make_error(Code::resource_exhausted, "too many streams are open: at most " + std::to_string(limits.all));
  const auto of_him = std::ranges::count_if(calls_.open_, [&](const auto& open) { return open.second.who == who; });
  if (!who.empty() && static_cast<std::size_t>(of_him) >= limits.of_one)
    return make_error(Code::resource_exhausted,
                      who + " has too many streams open: at most " + std::to_string(limits.of_one));
  Open& own = calls_.open_.at(context_);
  own.who = who;
  own.serial = serial;
  own.valid_to = valid_to;
  return {};
}

void OpenCalls::Call::greeted() {
  MutexLock lock(calls_.mutex_);
  calls_.open_.at(context_).first_message = Instant::never();
}

void OpenCalls::Call::cut() {
  context_->TryCancel();
}

void OpenCalls::cut_mute(Instant now) {
  MutexLock lock(mutex_);
  for (const auto& [context, open] : open_)
    if (now > open.first_message) context->TryCancel();
}

void OpenCalls::cut_where(const std::function<bool(const std::string&)>& is_to_end) {
  MutexLock lock(mutex_);
  for (const auto& [context, open] : open_)
    if (!open.serial.empty() && is_to_end(open.serial)) context->TryCancel();
}

void OpenCalls::cut_expired(const std::function<bool(const std::string&, identity::WallTime)>& has_expired) {
  MutexLock lock(mutex_);
  for (const auto& [context, open] : open_)
    if (!open.serial.empty() && has_expired(open.who, open.valid_to)) context->TryCancel();
}

void OpenCalls::cut_all() {
  MutexLock lock(mutex_);
  closed_ = true;
  for (const auto& [context, open] : open_) context->TryCancel();
}

}  // namespace mangrove::cluster
