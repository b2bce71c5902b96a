#pragma once

#include "mangrove/infer/tags.h"
#include "mangrove/job/role.h"

namespace mangrove::infer {

/// For as long as this lives, the leader wakes up when a frame comes. REQUIRES: context.frames is not null.
class FrameListener {
 public:
  explicit FrameListener(job::RoleContext& context) : frames_(*context.frames) {
    frames_.set_listener([&endpoint = context.endpoint] { endpoint.send(0, kFrameTag, ""); });
  }
  ~FrameListener() { frames_.set_listener({}); }
  FrameListener(const FrameListener&) = delete;
  FrameListener& operator=(const FrameListener&) = delete;

 private:
  job::FrameQueue& frames_;
};

}  // namespace mangrove::infer
