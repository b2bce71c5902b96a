#include "mangrove/sensors/topic.h"

#include <algorithm>

#include "mangrove/base/parse_number.h"

namespace mangrove::sensors {
namespace {

constexpr std::size_t kLongestTopic = 1000, kLongestFilled = 200;
constexpr std::int64_t kMostLevels = 100;
constexpr std::string_view kShared = "$share/";

/// Without "$share/GROUP/".
std::string_view without_share(std::string_view filter) {
  if (!filter.starts_with(kShared)) return filter;
  const std::size_t end = filter.find('/', kShared.size());
  return end == std::string_view::npos ? std::string_view() : filter.substr(end + 1);
}

bool is_rest(const std::vector<std::string>& levels, std::size_t at) {
  return at < levels.size() && levels[at] == "#";
}

}  // namespace

std::vector<std::string> topic_levels(std::string_view topic) {
  std::vector<std::string> levels;
  for (;;) {
    const std::size_t end = topic.find('/');
    levels.emplace_back(topic.substr(0, end));
    if (end == std::string_view::npos) return levels;
    topic.remove_prefix(end + 1);
  }
}

Result<TopicTemplate::Part> TopicTemplate::place_named(std::string_view name) {
  constexpr std::string_view kLevel = "topic[";
  if (name == "source") return Part{.place = Place::source, .text = {}};
  if (name == "series") return Part{.place = Place::series, .text = {}};
  if (name == "id") return Part{.place = Place::id, .text = {}};
  if (name.starts_with(kLevel) && name.ends_with(']')) {
    MG_TRY(const std::int64_t level,
           parse_whole_number(std::string(name.substr(kLevel.size(), name.size() - kLevel.size() - 1)), 0, kMostLevels)
               .context("{" + std::string(name) + "}"));
    return Part{.place = Place::topic_level, .text = {}, .level = static_cast<std::size_t>(level)};
  }
  return make_error(Code::invalid_argument, "unknown place '{" + std::string(name) +
                                                "}': expected {topic[0]}, {topic[1]}, ..., {source}, {series} or {id}");
}

Result<TopicTemplate> TopicTemplate::parse(std::string_view text) {
  TopicTemplate made;
  while (!text.empty()) {
    const std::size_t begin = std::min(text.find_first_of("{}"), text.size());
    if (begin > 0) made.parts_.push_back({.place = Place::text, .text = std::string(text.substr(0, begin))});
    text.remove_prefix(begin);
    if (text.empty()) break;
    const std::size_t end = text.find('}');
    if (text.front() == '}' || end == std::string_view::npos)
      return make_error(Code::invalid_argument, "'" + std::string(text) + "': each { needs its }");
    MG_TRY(Part part, place_named(text.substr(1, end - 1)));
    made.parts_.push_back(std::move(part));
    text.remove_prefix(end + 1);
  }
  return made;
}

Result<std::string> TopicTemplate::fill(const TopicFacts& facts) const {
  const std::vector<std::string> levels = topic_levels(facts.topic);
  std::string text;
  for (const Part& part : parts_) {
    switch (part.place) {
      case Place::text:
        text += part.text;
        break;
      case Place::source:
        text += facts.source;
        break;
      case Place::series:
        text += facts.series;
        break;
      case Place::id:
        text += facts.id;
        break;
      case Place::topic_level:
        if (part.level >= levels.size())
          return make_error(Code::invalid_argument, "topic '" + facts.topic + "' has " + std::to_string(levels.size()) +
                                                        " levels, and no level " + std::to_string(part.level));
        text += levels[part.level];
        break;
    }
  }
  return text;
}

/// A message must not choose how many levels the topic has: others may subscribe there. errors: invalid_argument.
Status TopicTemplate::check_levels(const TopicFacts& facts) const {
  for (const Part& part : parts_) {
    const bool is_id = part.place == Place::id;
    if (!is_id && part.place != Place::series) continue;
    const std::string& value = is_id ? facts.id : facts.series;
    if (value.find('/') != std::string::npos)
      return make_error(Code::invalid_argument, std::string(is_id ? "the id" : "the series") + " '" +
                                                    value.substr(0, kLongestFilled) +
                                                    "' has a slash, so it cannot be a level of a topic");
  }
  return {};
}

Result<std::string> TopicTemplate::topic_of(const TopicFacts& facts) const {
  MG_RETURN_IF_ERROR(check_levels(facts));
  MG_TRY(std::string topic, fill(facts));
  const bool has_forbidden = topic.find_first_of(std::string_view("+#\0", 3)) != std::string::npos;
  if (topic.empty() || topic.size() > kLongestTopic || topic.front() == '$' || has_forbidden)
    return make_error(Code::invalid_argument, "'" + topic.substr(0, kLongestFilled) +
                                                  "' is no topic to publish to: it needs 1 to 1,000 bytes, no $ in "
                                                  "front, and neither +, # nor zero bytes");
  return topic;
}

Result<std::string> TopicTemplate::text_of(const TopicFacts& facts) const {
  MG_TRY(std::string text, fill(facts));
  if (text.size() > kLongestFilled)
    return make_error(Code::invalid_argument,
                      "the text made of topic '" + facts.topic.substr(0, kLongestFilled) + "' has more than 200 bytes");
  return text;
}

std::string TopicTemplate::filter() const {
  std::string marked;  // a zero byte for each place
  for (const Part& part : parts_) marked += part.place == Place::text ? part.text : std::string(1, '\0');
  std::string filter;
  for (const std::string& level : topic_levels(marked)) {
    if (!filter.empty()) filter += '/';
    filter += level.find('\0') == std::string::npos ? level : "+";
  }
  return filter;
}

bool filters_overlap(std::string_view a, std::string_view b) {
  const std::vector<std::string> ours = topic_levels(without_share(a)), theirs = topic_levels(without_share(b));
  for (std::size_t at = 0;; ++at) {
    if (is_rest(ours, at) || is_rest(theirs, at)) return true;
    if (at == ours.size() || at == theirs.size()) return ours.size() == theirs.size();
    if (ours[at] != "+" && theirs[at] != "+" && ours[at] != theirs[at]) return false;
  }
}

}  // namespace mangrove::sensors
