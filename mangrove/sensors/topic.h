#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/result.h"

namespace mangrove::sensors {

/// The levels of an MQTT topic, or the segments of a CoAP path: what stands between slashes.
std::vector<std::string> topic_levels(std::string_view topic);

/// What a template may say of a message.
struct TopicFacts {
  std::string topic;   // on which it came
  std::string source;  // the section's name
  std::string series;  // which of the source's sensors
  std::string id;
};

/// A text with places that are filled in for each message: {topic[1]} (a level of its topic, the first is 0), {source},
/// {series}, {id}. Immutable. threads: any.
class TopicTemplate {
 public:
  /// errors: invalid_argument (an unknown place, or a brace that is not closed).
  static Result<TopicTemplate> parse(std::string_view text);

  /// errors: invalid_argument (the topic has no such level; the result is no topic that MQTT allows to publish to:
  /// empty, with a wildcard or a zero byte, beginning with $, longer than 1,000 bytes; {series} or {id} with a slash).
  Result<std::string> topic_of(const TopicFacts& facts) const;
  /// The filled-in text, whether or not it may be a topic. errors: invalid_argument (no such level, or a result beyond
  /// 200 bytes).
  Result<std::string> text_of(const TopicFacts& facts) const;
  bool is_empty() const { return parts_.empty(); }
  /// A subscription to all topics that it can give: each level with a place is '+'.
  std::string filter() const;

 private:
  enum class Place { text, topic_level, source, series, id };
  struct Part {
    Place place = Place::text;
    std::string text;       // of Place::text
    std::size_t level = 0;  // of Place::topic_level
  };
  static Result<Part> place_named(std::string_view name);
  Status check_levels(const TopicFacts& facts) const;
  Result<std::string> fill(const TopicFacts& facts) const;

  std::vector<Part> parts_;
};

/// Whether there can be a topic that both subscriptions have ($share/GROUP/ in front of one does not count).
/// source: MQTT 5.0, 4.7 Topic Names and Topic Filters.
bool filters_overlap(std::string_view a, std::string_view b);

}  // namespace mangrove::sensors
