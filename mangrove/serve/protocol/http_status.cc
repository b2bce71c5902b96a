#include "mangrove/serve/protocol/http_status.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "mangrove/base/json_dump.h"

namespace mangrove::serve {
namespace {

struct StatusRow {
  Code code;
  int status;
};
constexpr std::array kStatuses = {StatusRow{Code::cancelled, 503},
                                  StatusRow{Code::invalid_argument, 400},
                                  StatusRow{Code::deadline_exceeded, 504},
                                  StatusRow{Code::not_found, 404},
                                  StatusRow{Code::already_exists, 409},
                                  StatusRow{Code::permission_denied, 403},
                                  StatusRow{Code::resource_exhausted, 429},
                                  StatusRow{Code::failed_precondition, 400},
                                  StatusRow{Code::aborted, 503},
                                  StatusRow{Code::out_of_range, 400},
                                  StatusRow{Code::unimplemented, 501},
                                  StatusRow{Code::internal, 500},
                                  StatusRow{Code::unavailable, 503},
                                  StatusRow{Code::data_loss, 400}};

constexpr const char* kRetryAfterSeconds = "1";

}  // namespace

int http_status(Code code) {
  const auto* const row = std::ranges::find(kStatuses, code, &StatusRow::code);
  return row == kStatuses.end() ? 500 : row->status;
}

HttpResponse error_response(int status, const std::string& message) {
  HttpResponse response;
  response.status = status;
  response.body = dump(nlohmann::json{{"error", message}});
  if (status == 429 || status == 503) response.headers.emplace_back("Retry-After", kRetryAfterSeconds);
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

HttpResponse error_response(const Error& error) {
  return error_response(http_status(error.code), error.message);
}

}  // namespace mangrove::serve
