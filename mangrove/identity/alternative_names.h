#pragma once

#include "mangrove/base/result.h"
#include "mangrove/identity/openssl.h"
#include "mangrove/identity/subject.h"

namespace mangrove::identity {

/// Reads the subject from the alternative names of a certificate or a request. names: may be null, for none.
/// errors: invalid_argument (there is no URI mangrove://ROLE/NAME, or there are several).
Result<Subject> subject_of(const GENERAL_NAMES* names);

}  // namespace mangrove::identity
