#include "mangrove/job/sample_count.h"

#include <limits>
#include <string>

#include "mangrove/base/process_memory.h"

namespace mangrove::job {

Status check_sample_count(std::int64_t samples, Bytes each) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (samples < 0 || samples > kMost)
    return make_error(Code::invalid_argument,
                      std::to_string(samples) + " samples; expected 0 to " + std::to_string(kMost));
  const Bytes limit = memory_limit();
  if (limit == 0 || samples <= limit / 2 / each) return {};
  return make_error(Code::resource_exhausted, std::to_string(samples) + " samples; to lead a job on so many takes " +
                                                  format_bytes(samples * each) + ", and this process may use " +
                                                  format_bytes(limit));
}

}  // namespace mangrove::job
