#pragma once

#include <optional>
#include <string_view>

#include "mangrove/serve/http/message.h"

namespace mangrove::dashboard {

/// The answer with a file of the page (web/dist), which is part of the program; "/" is index.html. It tells the browser
/// to load nothing from elsewhere. Nothing: the page has no such file.
std::optional<serve::HttpResponse> page_file(std::string_view path);

}  // namespace mangrove::dashboard
