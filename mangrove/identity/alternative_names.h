#pragma once

#include "mangrove/base/result.h"
#include "mangrove/identity/openssl.h"
#include "mangrove/identity/subject.h"

namespace mangrove::identity {

/// Who is meant by the alternative names of a certificate or a request, which may be null.
/// errors: invalid_argument (they have no URI mangrove://ROLE/NAME, or several).
Result<Subject> subject_of(const GENERAL_NAMES* names);

}  // namespace mangrove::identity
