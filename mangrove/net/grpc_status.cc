#include "mangrove/net/grpc_status.h"

#include <grpcpp/support/status.h>

#include "mangrove/base/printable.h"

namespace mangrove::net {
namespace {

constexpr bool same(Code ours, grpc::StatusCode theirs) {
  return static_cast<int>(ours) == static_cast<int>(theirs);
}
static_assert(same(Code::cancelled, grpc::StatusCode::CANCELLED) &&
              same(Code::invalid_argument, grpc::StatusCode::INVALID_ARGUMENT) &&
              same(Code::deadline_exceeded, grpc::StatusCode::DEADLINE_EXCEEDED) &&
              same(Code::not_found, grpc::StatusCode::NOT_FOUND) &&
              same(Code::already_exists, grpc::StatusCode::ALREADY_EXISTS) &&
              same(Code::permission_denied, grpc::StatusCode::PERMISSION_DENIED) &&
              same(Code::resource_exhausted, grpc::StatusCode::RESOURCE_EXHAUSTED) &&
              same(Code::failed_precondition, grpc::StatusCode::FAILED_PRECONDITION) &&
              same(Code::aborted, grpc::StatusCode::ABORTED) &&
              same(Code::out_of_range, grpc::StatusCode::OUT_OF_RANGE) &&
              same(Code::unimplemented, grpc::StatusCode::UNIMPLEMENTED) &&
              same(Code::internal, grpc::StatusCode::INTERNAL) &&
              same(Code::unavailable, grpc::StatusCode::UNAVAILABLE) &&
              same(Code::data_loss, grpc::StatusCode::DATA_LOSS));

}  // namespace

Status from_grpc(const grpc::Status& status) {
  const std::string message = cut_short(status.error_message());
  switch (status.error_code()) {
    case grpc::StatusCode::OK:
      return {};
    case grpc::StatusCode::UNKNOWN:
      return make_error(Code::internal, message);
    case grpc::StatusCode::UNAUTHENTICATED:
      return make_error(Code::permission_denied, message);
    default:
      return make_error(static_cast<Code>(status.error_code()), message);
  }
}

grpc::Status to_grpc(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.code()), status.error().message};
}

}  // namespace mangrove::net
