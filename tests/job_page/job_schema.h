#pragma once

#include <string>

namespace mangrove {

/// A JSON Schema (draft 7) of job files, from the descriptions of the keys.
std::string job_schema();

}  // namespace mangrove
