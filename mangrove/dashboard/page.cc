#include "mangrove/dashboard/page.h"

#include <algorithm>
#include <array>
#include <string>

namespace mangrove::dashboard {
namespace {

struct PageFile {
  std::string_view name, bytes;
};
constexpr PageFile kFiles[] = {
#include "mangrove/dashboard/page_files.inc"
};

struct Suffix {
  std::string_view end;
  const char* content_type;
};
constexpr std::array kSuffixes = {
    Suffix{".html", "text/html; charset=utf-8"}, Suffix{".js", "text/javascript; charset=utf-8"},
    Suffix{".css", "text/css; charset=utf-8"}, Suffix{".svg", "image/svg+xml"}, Suffix{".png", "image/png"}};

// Names and messages in the page come from elsewhere; if one of them ever became a script, it would not run.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const char* content_type_of(std::string_view name) {
  const auto* const found = std::ranges::find_if(kSuffixes, [&](const Suffix& one) { return name.ends_with(one.end); });
  return found == kSuffixes.end() ? "application/octet-stream" : found->content_type;
}

}  // namespace

std::optional<serve::HttpResponse> page_file(std::string_view path) {
  const std::string_view name = path == "/" ? "index.html" : path.substr(std::min<std::size_t>(path.size(), 1));
  const auto* const file = std::ranges::find(kFiles, name, &PageFile::name);
  if (file == std::end(kFiles)) return std::nullopt;
  serve::HttpResponse response;
  response.content_type = content_type_of(name);
  response.body = file->bytes;
  response.headers = {{"Content-Security-Policy", kPolicy},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cache-Control", "no-cache"}};
  return response;
}

}  // namespace mangrove::dashboard
