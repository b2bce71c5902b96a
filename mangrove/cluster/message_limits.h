#pragma once

#include "mangrove/base/result.h"
#include "mangrove/base/units.h"

namespace google::protobuf {
class Message;
}

namespace mangrove::cluster {

/// How long messages may be, by what they are for. What a node says has limits of its own (node_checks.h).
constexpr Bytes kLongestQuestion = KiB(64);  // of a client that asks for something, or of a node for a job
constexpr Bytes kLongestFrame = MiB(32);     // an image that a client pushes
constexpr Bytes kLongestSettings = MiB(1);   // of a job, beside its model and its checkpoint
constexpr Bytes kLongestPossible = GiB(1);   // a model or a checkpoint travels in one message

/// Where the coordinator says how long a job may be; see cluster.proto.
constexpr const char* kLongestJobMetadata = "mangrove-longest-job";

/// How long a model or a checkpoint may be where nobody has said it: a quarter of the memory that this process may use,
/// from 64 MiB to kLongestPossible.
Bytes longest_by_memory();

/// How many bytes of messages that have not come to their end a server holds whose messages are so long: two. gRPC
/// looks at the length of a message when all of it has come; where there is no room, it ends streams.
constexpr Bytes room_for(Bytes longest) {
  return 2 * longest;
}

/// errors: resource_exhausted (longer than kLongestQuestion).
Status check_question(const google::protobuf::Message& question);

}  // namespace mangrove::cluster
