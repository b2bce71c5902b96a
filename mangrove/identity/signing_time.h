#pragma once

#include "mangrove/base/result.h"
#include "mangrove/identity/certificate.h"
#include "mangrove/identity/wall_time.h"

namespace mangrove::identity {

/// The beginning of the day on which this program was built: no clock that is right shows an earlier time.
WallTime build_day();
/// Checks that the clock may be right. errors: failed_precondition (it shows a time before build_day()).
Status check_clock(WallTime now);
/// Checks that this authority may sign now. errors: those of check_clock(); failed_precondition (the authority is not
/// valid at this time).
Status check_signing_time(const Certificate& authority, WallTime now);

}  // namespace mangrove::identity
