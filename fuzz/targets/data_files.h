#pragma once

#include <string_view>

namespace mangrove::fuzz {

void cifar(std::string_view bytes);
void csv(std::string_view bytes);
void gzip(std::string_view bytes);
void idx(std::string_view bytes);
void image(std::string_view bytes);
void motion_jpeg(std::string_view bytes);
void shard(std::string_view bytes);
void tar(std::string_view bytes);

}  // namespace mangrove::fuzz
