#pragma once

#include "mangrove/base/result.h"

namespace grpc {
class Status;
}

namespace mangrove::net {

/// The outcome of a call. gRPC's codes that Code leaves out become the nearest one: unknown is internal,
/// unauthenticated is permission_denied. The message is cut short.
Status from_grpc(const grpc::Status& status);
grpc::Status to_grpc(const Status& status);

}  // namespace mangrove::net
