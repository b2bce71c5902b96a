#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace mangrove::serve {

/// The interface of REST as an OpenAPI 3 page, with every route. asks: clients need a token or a certificate.
nlohmann::ordered_json openapi_page(const std::string& version, bool asks);

}  // namespace mangrove::serve
