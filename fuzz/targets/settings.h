#pragma once

#include <string_view>

namespace mangrove::fuzz {

void announced(std::string_view bytes);
void boards(std::string_view bytes);
void data_spec(std::string_view bytes);
void devices(std::string_view bytes);
void job_file(std::string_view bytes);
void profile(std::string_view bytes);
void sensor_sources(std::string_view bytes);
void tiers(std::string_view bytes);
void world(std::string_view bytes);

}  // namespace mangrove::fuzz
