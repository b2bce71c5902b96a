#include "mangrove/identity/signing_time.h"

namespace mangrove::identity {

WallTime build_day() {
  return WallTime(std::chrono::days(MANGROVE_BUILD_DAY));
}

Status check_clock(WallTime now) {
  if (now >= build_day()) return {};
  return make_error(Code::failed_precondition, "the clock of this machine is wrong: it shows " + to_text(now) +
                                                   ", and this program was built on " + to_text(build_day()) +
                                                   "; set it, or wait until it is set from the network");
}

Status check_signing_time(const Certificate& authority, WallTime now) {
  MG_RETURN_IF_ERROR(check_clock(now));
  if (now >= authority.valid_from() && now < authority.valid_to()) return {};
  return make_error(Code::failed_precondition,
                    "the cluster's authority is valid from " + to_text(authority.valid_from()) + " to " +
                        to_text(authority.valid_to()) + ", and it is " + to_text(now) + " here: is the clock right?");
}

}  // namespace mangrove::identity
