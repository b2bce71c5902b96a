#pragma once

#include <string_view>

namespace mangrove::fuzz {

void codec(std::string_view bytes);
void infer_messages(std::string_view bytes);
void job_spec(std::string_view bytes);
void report(std::string_view bytes);
void secure_sum(std::string_view bytes);
void signature(std::string_view bytes);
void train_messages(std::string_view bytes);

}  // namespace mangrove::fuzz
