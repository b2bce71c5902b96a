#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace mangrove::testing {

/// Whether every element is closed in order, every attribute is quoted, and every & begins an entity. "" if so, else
/// what is wrong. Knows as much of HTML as the page uses: void elements, a doctype, style text without < or &.
inline std::string problem_of(const std::string& html) {
  std::vector<std::string> open;
  for (std::size_t at = 0; at < html.size(); ++at) {
    if (html[at] == '&') {
      const std::string entity = html.substr(at, html.find(';', at) - at);
      if (entity != "&lt" && entity != "&gt" && entity != "&amp" && entity != "&quot") return "entity " + entity;
    }
    if (html[at] == '>') return "a > outside of a tag: ..." + html.substr(at > 40 ? at - 40 : 0, 60);
    if (html[at] != '<') continue;
    const std::size_t end = html.find('>', at);
    if (end == std::string::npos) return "a tag without end";
    const std::string tag = html.substr(at + 1, end - at - 1);
    at = end;
    if (tag.find('<') != std::string::npos) return "< in tag " + tag;
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0) return "quotes in " + tag;
    const std::string name = tag.substr(0, tag.find_first_of(" /", 1));
    if (name == "!doctype" || name == "meta" || tag.back() == '/') continue;
    if (tag.front() != '/') {
      open.push_back(name);
    } else if (open.empty() || "/" + open.back() != tag) {
      return "<" + tag + "> closes " + (open.empty() ? "nothing" : open.back());
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : open.back() + " is not closed";
}

}  // namespace mangrove::testing
