#pragma once

#include <string_view>

namespace mangrove::fuzz {

void coded_model(std::string_view bytes);
void onnx(std::string_view bytes);
void onnx_external(std::string_view bytes);
void onnx_outline(std::string_view bytes);
void onnx_tensor(std::string_view bytes);

}  // namespace mangrove::fuzz
