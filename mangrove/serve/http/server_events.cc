#include "mangrove/serve/http/server_events.h"

namespace mangrove::serve {

std::string server_event(std::string_view name, std::string_view data) {
  std::string text = "event: ";
  text += name;
  text += "\ndata: ";
  for (const char c : data) {
    if (c == '\r') continue;
    text += c;
    if (c == '\n') text += "data: ";
  }
  return text + "\n\n";
}

}  // namespace mangrove::serve
