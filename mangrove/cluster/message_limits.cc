#include "mangrove/cluster/message_limits.h"

#include <google/protobuf/message.h>

#include <algorithm>

#include "mangrove/base/process_memory.h"

namespace mangrove::cluster {

Bytes longest_by_memory() {
  const Bytes memory = memory_limit();
  return memory == 0 ? kLongestPossible : std::clamp(memory / 4, MiB(64), kLongestPossible);
}

Status check_question(const google::protobuf::Message& question) {
  const auto length = static_cast<Bytes>(question.ByteSizeLong());
  if (length <= kLongestQuestion) return {};
  return make_error(Code::resource_exhausted, "a question of " + format_bytes(length) + ", where " +
                                                  format_bytes(kLongestQuestion) + " is the longest");
}

}  // namespace mangrove::cluster
