#pragma once

#include <string_view>

namespace mangrove::fuzz {

void access_tokens(std::string_view bytes);
void grpc_request(std::string_view bytes);
void inference_answer(std::string_view bytes);
void json_request(std::string_view bytes);
void rest_target(std::string_view bytes);
void sensor_message(std::string_view bytes);

}  // namespace mangrove::fuzz
