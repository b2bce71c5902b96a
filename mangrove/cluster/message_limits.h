#pragma once

#include "mangrove/base/result.h"
#include "mangrove/base/units.h"

namespace google::protobuf {
class Message;
}

namespace mangrove::cluster {

// How long messages may be. What a node says has limits of its own (node_checks.h).
constexpr Bytes kLongestQuestion = KiB(64);  // a client's request, or a node's request for a job
constexpr Bytes kLongestFrame = MiB(32);     // an image that a client pushes
constexpr Bytes kLongestSettings = MiB(1);   // a job without its model and its checkpoint
constexpr Bytes kLongestPossible = GiB(1);   // a model or a checkpoint travels in one message

/// The metadata key under which the coordinator says how long a job may be; see cluster.proto.
constexpr const char* kLongestJobMetadata = "mangrove-longest-job";

/// How long a model or a checkpoint may be by default: a quarter of the memory that this process may use, at least
/// 64 MiB and at most kLongestPossible.
Bytes longest_by_memory();

/// How many bytes of unfinished messages a server holds: two messages of the longest kind. gRPC compares the length of
/// a message with its limit only when all of it has arrived; when there is no room for more, it ends streams.
constexpr Bytes room_for(Bytes longest) {
  return 2 * longest;
}

/// errors: resource_exhausted (longer than kLongestQuestion).
Status check_question(const google::protobuf::Message& question);

}  // namespace mangrove::cluster
