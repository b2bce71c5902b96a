#include "mangrove/cli/reports/html.h"

#include <fmt/format.h>

#include "mangrove/base/utf8.h"

namespace mangrove::cli {
namespace {

// The colours are custom properties, so that the charts follow the reader's light or dark setting.
constexpr PictureColours kPageColours = {
    .ink = "var(--ink)", .soft = "var(--soft)", .line = "var(--line)", .a = "var(--a)", .b = "var(--b)"};
constexpr const char* kPageStyle = R"(
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#667085;--paper:#fff;--line:#e4e7ec;--a:#0b6e4f;--b:#c2410c}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8eb;--soft:#98a2b3;--paper:#14171a;--line:#2c3239;--a:#4fd1a5;--b:#fb923c}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:1080px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.4rem;margin:0 0 1rem}h2{font-size:1.15rem;font-weight:600}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:.75rem 1.5rem;margin:0 0 2rem}
dt{color:var(--soft);font-size:.8rem}dd{margin:0;font-size:1.15rem;font-variant-numeric:tabular-nums}
main{display:grid;grid-template-columns:repeat(auto-fill,minmax(400px,1fr));gap:1.5rem 2rem}
svg{width:100%;height:auto;overflow:visible}
h2{margin:2.5rem 0 .5rem}h3{font-size:1rem;font-weight:600;margin:1rem 0 .25rem}main h3{margin-top:0}
.legend{color:var(--soft);font-size:.8rem;margin:.25rem 0}.legend b{font-weight:600;margin-right:.5rem}
.table{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem;margin:.5rem 0 1rem;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:.15rem .9rem .15rem 0;vertical-align:top}th{color:var(--soft);font-weight:500}
th:first-child,td:first-child,.text,.texts th,.texts td{text-align:left}.texts td{overflow-wrap:anywhere}
.legend .wait{color:var(--soft)}
)";

// What is drawn. $ink and others stand for PictureColours.
constexpr std::string_view kPictureStyle = R"(
text{fill:$soft;font-size:11px}text.name{fill:$ink;font-size:12px;font-weight:600}
.grid{stroke:$line}polyline{fill:none;stroke:currentColor;stroke-width:1.8}circle,rect{fill:currentColor}
.a,.compute{color:$a}.b,.wire{color:$b}.load{color:#d4a017}.encode{color:#7c6fdc}.wait,.rail{color:$line}
.box{fill:none;stroke:currentColor;stroke-width:1.5;color:$soft}.way{color:$soft;stroke-width:1.5}.tip{fill:$soft}
.n0{color:#0b8f63}.n1{color:#d2601a}.n2{color:#3b7dd8}.n3{color:#b5487f}.n4{color:#8a8d1a}
.n5{color:#12959f}.n6{color:#c23b3b}.n7{color:#7b5cc4}.n8{color:#8c6239}.n9{color:#5f7285}
)";

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

bool is_within_character(char c) {
  return (c & 0xC0) == 0x80;
}

}  // namespace

std::string escaped(const std::string& text) {
  const bool is_readable = is_utf8(text);
  std::string html;
  for (const char c : text) {
    if (c == '<')
      html += "&lt;";
    else if (c == '>')
      html += "&gt;";
    else if (c == '&')
      html += "&amp;";
    else if (c == '"')
      html += "&quot;";
    else if (is_control(c))
      html += ' ';
    else
      html += is_readable || static_cast<unsigned char>(c) < 0x80 ? c : '?';
  }
  return html;
}

std::string shortened(std::string_view text, std::size_t most) {
  constexpr std::string_view kMore = "...";
  if (text.size() <= most) return std::string(text);
  std::size_t length = most > kMore.size() ? most - kMore.size() : 0;
  while (length > 0 && is_within_character(text[length])) --length;
  return std::string(text.substr(0, length)).append(kMore);
}

std::string picture_style(const PictureColours& colours) {
  std::string style(kPictureStyle);
  const auto set = [&](std::string_view name, std::string_view colour) {
    for (std::size_t at = style.find(name); at != std::string::npos; at = style.find(name, at + colour.size()))
      style.replace(at, name.size(), colour);
  };
  set("$ink", colours.ink);
  set("$soft", colours.soft);
  set("$line", colours.line);
  set("$a", colours.a);
  set("$b", colours.b);
  return style;
}

std::string html_page(const std::string& title, const std::string& body) {
  return "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
         "content=\"width=device-width\"><title>" +
         escaped(title) + "</title><style>" + kPageStyle + picture_style(kPageColours) + "</style></head><body>\n<h1>" +
         escaped(title) + "</h1>\n" + body + "</body></html>\n";
}

std::string html_figure(const std::string& name, const std::string& value) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escaped(name), escaped(value));
}

std::string html_section(const std::string& heading, const std::string& picture) {
  return fmt::format("<section><h3>{}</h3>{}</section>\n", escaped(heading), picture);
}

}  // namespace mangrove::cli
