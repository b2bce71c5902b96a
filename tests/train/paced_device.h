#pragma once

#include <functional>

#include "tests/job/still_device.h"

#include "mangrove/job/role.h"

namespace mangrove::train {

/// A device of a world of virtual time that computes so many operations a second.
class PacedDevice final : public job::StillDevice {
 public:
  /// flops_per_s: asked for with every computation, so it may change. context: of the role that it plays.
  PacedDevice(job::RoleContext& context, std::function<double()> flops_per_s)
      : context_(context), flops_per_s_(std::move(flops_per_s)) {}

  void charge(double flops) override {
    constexpr net::Tag kNobodySends = 99;
    (void)context_.endpoint.recv({0}, kNobodySends, context_.clock.after(flops / flops_per_s_()));
  }

  /// The role's context, with this device.
  job::RoleContext context() {
    return {context_.endpoint,    context_.clock,     *this,
            context_.data_folder, context_.threads,   context_.stop,
            context_.report,      context_.step_done, context_.frames};
  }

 private:
  job::RoleContext& context_;
  const std::function<double()> flops_per_s_;
};

}  // namespace mangrove::train
