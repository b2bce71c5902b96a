#include "mangrove/data/url.h"

#include <curl/curl.h>

#include <array>
#include <cmath>
#include <memory>

namespace mangrove::data {
namespace {

struct Transfer {
  std::string content;
  Bytes max_bytes;
  const std::function<void(Bytes)>& received;
  std::stop_token stop;
  bool too_long = false;
};

/// curl's write callback: any number but `count` ends the transfer.
std::size_t take(const char* bytes, std::size_t, std::size_t count, void* pointer) {
  auto& transfer = *static_cast<Transfer*>(pointer);
  transfer.too_long = transfer.content.size() + count > static_cast<std::size_t>(transfer.max_bytes);
  if (transfer.too_long) return 0;
  transfer.content.append(bytes, count);
  return count;
}

/// curl's progress callback, called at least once a second also while nothing comes: any number but 0 ends the
/// transfer.
int watch(void* pointer, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(pointer);
  if (transfer.received) transfer.received(static_cast<Bytes>(transfer.content.size()));
  return transfer.stop.stop_requested() ? 1 : 0;
}

void configure(CURL* curl, const std::string& url, const UrlOptions& options, Transfer& transfer, char* reason) {
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "mangrove");
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https,http,file");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "https,http");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 5L);
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);  // signals are the program's
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, std::lround(options.connect_timeout * 1000));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1000L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, std::lround(std::ceil(options.stall_timeout)));
  // a name server that is silent must not hold us longer than connect_timeout
  curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &take);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &watch);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
}

}  // namespace

Result<std::string> read_url(const std::string& url, const UrlOptions& options,
                             const std::function<void(Bytes)>& received, std::stop_token stop) {
  const std::unique_ptr<CURL, void (*)(CURL*)> curl(curl_easy_init(), &curl_easy_cleanup);
  if (!curl) return make_error(Code::resource_exhausted, "cannot start a transfer");
  Transfer transfer{.content = {}, .max_bytes = options.max_bytes, .received = received, .stop = std::move(stop)};
  std::array<char, CURL_ERROR_SIZE> reason{};
  configure(curl.get(), url, options, transfer, reason.data());
  const CURLcode code = curl_easy_perform(curl.get());
  if (transfer.stop.stop_requested()) return make_error(Code::cancelled, "interrupted");
  if (transfer.too_long)
    return make_error(Code::data_loss, "more than the " + format_bytes(options.max_bytes) + " expected");
  if (code != CURLE_OK)
    return make_error(Code::unavailable, reason[0] != '\0' ? reason.data() : curl_easy_strerror(code));
  return std::move(transfer.content);
}

std::string url_host(const std::string& url) {
  const std::size_t scheme = url.find("://");
  const std::size_t begin = scheme == std::string::npos ? 0 : scheme + 3;
  const std::string host = url.substr(begin, url.find('/', begin) - begin);
  return host.empty() ? url : host;
}

}  // namespace mangrove::data
