#include "fuzz/targets/requests.h"

#include <optional>
#include <string>

#include "mangrove/sensors/payload.h"
#include "mangrove/sensors/series_table.h"
#include "mangrove/serve/client/answer_reader.h"
#include "mangrove/serve/http/target.h"
#include "mangrove/serve/http/tokens.h"
#include "mangrove/serve/open_inference.pb.h"
#include "mangrove/serve/protocol/access.h"
#include "mangrove/serve/protocol/grpc_messages.h"
#include "mangrove/serve/protocol/json_request.h"
#include "mangrove/serve/protocol/json_response.h"
#include "mangrove/serve/protocol/routes.h"

namespace mangrove::fuzz {

void access_tokens(std::string_view bytes) {
  const auto read = serve::Tokens::parse(bytes, serve::kTokenHolders);
  if (read.ok()) static_cast<void>(read->holder(bytes));
}

void grpc_request(std::string_view bytes) {
  inference::ModelInferRequest message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  const auto read = serve::request_of(message, {});
  inference::ModelInferResponse answer;
  if (read.ok()) serve::write_response({.version = "1", .outputs = read->inputs}, "m", read->id, answer);
}

void inference_answer(std::string_view bytes) {
  static_cast<void>(serve::read_server(bytes));
  static_cast<void>(serve::read_properties(bytes));
  static_cast<void>(serve::read_models(bytes, /*only_ready=*/true));
  static_cast<void>(serve::read_error(bytes));
  const auto metadata = serve::read_metadata(bytes);
  serve::ModelMetadata model;
  model.outputs = {{"y", DType::f32, {-1, 2}}};
  if (metadata.ok()) model = *metadata;
  // the JSON ends with the last brace, if bytes of outputs are behind it
  const std::size_t brace = bytes.rfind('}');
  const std::string length = std::to_string(brace == std::string_view::npos ? 0 : brace + 1);
  static_cast<void>(serve::read_outputs(model, 1, bytes, length));
  static_cast<void>(serve::read_outputs(model, 1, bytes, std::nullopt));
}

void json_request(std::string_view bytes) {
  // the JSON ends with the last brace, if bytes of inputs are behind it
  const std::size_t brace = bytes.rfind('}');
  const auto with_bytes = serve::parse_json_request(bytes, brace == std::string_view::npos ? 0 : brace + 1, {});
  const auto read = serve::parse_json_request(bytes, std::nullopt, {});
  for (const auto* one : {&with_bytes, &read})
    if (one->ok())
      static_cast<void>(serve::write_json_response(
          "m", (*one)->request.id, {.version = "1", .outputs = (*one)->request.inputs}, (*one)->binary));
}

void rest_target(std::string_view bytes) {
  static_cast<void>(serve::find_route("GET", bytes));
  static_cast<void>(serve::query_value(bytes, "k"));
}

/// The first byte chooses the format.
void sensor_message(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto formats = sensors::payload_formats();
  const sensors::PayloadFormat& format = formats[static_cast<unsigned char>(bytes.front()) % formats.size()];
  sensors::PayloadOptions options{.format = format.name};
  if (format.has_fields) options = {.format = format.name, .value = "/v", .time = "/t", .id = "/i"};
  const auto reading = sensors::decode_payload(bytes.substr(1), options);
  if (!reading.ok()) return;
  sensors::SeriesTable series;
  sensors::WindowCounts counts;
  const sensors::SeriesTable::Group group{.options = {.length = 4, .hop = 1, .lateness = 2, .ahead = 1e12}, .rows = 1};
  static_cast<void>(series.add(group, "s", 0, *reading, 1e9, counts));
}

}  // namespace mangrove::fuzz
