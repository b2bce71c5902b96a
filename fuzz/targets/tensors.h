#pragma once

#include <string_view>

namespace mangrove::fuzz {

void checkpoint(std::string_view bytes);
void npy(std::string_view bytes);
void safetensors(std::string_view bytes);

}  // namespace mangrove::fuzz
