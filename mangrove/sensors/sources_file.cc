#include "mangrove/sensors/sources_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "mangrove/base/config_file.h"
#include "mangrove/base/table.h"
#include "mangrove/sensors/link_kinds.h"
#include "mangrove/sensors/mqtt_link.h"
#include "mangrove/sensors/topic.h"

namespace mangrove::sensors {
namespace {

constexpr std::int64_t kMostMessages = 1'000'000, kMostSlots = 1'000'000, kMostSources = 100;
constexpr Bytes kLargestMessage = 256'000'000;
constexpr std::size_t kLongestName = 40;
constexpr double kMostNumbersAtOnce = 16e6;

/// A key whose value is one word of a table of words.
template <class Value>
Key word_key(const std::string& name, Value& target, const std::string& help,
             std::vector<std::pair<std::string, Value>> words) {
  std::vector<std::string> names;
  names.reserve(words.size());
  for (const auto& [word, value] : words) names.push_back(word);
  const std::string range = fmt::format("{}", fmt::join(names, ", "));
  return Key{.name = name,
             .help = help,
             .value = "NAME",
             .range = range,
             .set = [&target, words, range](const std::string& text) -> Status {
               for (const auto& [word, value] : words) {
                 if (word != text) continue;
                 target = value;
                 return {};
               }
               return make_error(Code::invalid_argument, "'" + text + "': expected one of " + range);
             },
             .get =
                 [&target, words] {
                   for (const auto& [word, value] : words)
                     if (value == target) return word;
                   return std::string();
                 }};
}

void add_payload_keys(Keys& keys, SourceOptions& options) {
  PayloadOptions& payload = options.payload;
  keys.add("payload", payload.format,
           "what a message is: " + fmt::format("{}", fmt::join(row_names(payload_formats()), ", ")));
  keys.add("value", payload.value,
           "JSON pointer to the number or numbers, e.g. /values/temperature; without it the whole message");
  keys.add("time", payload.time,
           "JSON pointer to the time of the measurement, since 1970; without it the arrival counts");
  keys.add("time_unit", payload.seconds_per_tick, "seconds in a unit of that time: 0.001 for milliseconds", 1e-9, 1e6);
  keys.add("scale", payload.scale, "each number is multiplied by this", -1e30, 1e30);
  keys.add("offset", payload.offset, "and this is added", -1e30, 1e30);
  keys.add("id", payload.id,
           "JSON pointer to the message's id, or a template such as {topic[2]}; without it each gets a new one");
  keys.add("once", options.once, "a message whose id has been answered is dropped; needs id and offline_buffer");
  keys.add_bytes("max_message", options.max_message, "longest message; longer ones are dropped", 1, kLargestMessage);
  keys.add("queue", options.queue.messages, "messages that wait", 1, kMostMessages);
  keys.add_bytes("queue_bytes", options.queue.bytes, "and their bytes", 1);
  keys.add(word_key("when_full", options.queue.when_full, "which message goes when the queue is full",
                    {{"drop_oldest", WhenFull::drop_oldest}, {"drop_newest", WhenFull::drop_newest}}));
}

void add_window_keys(Keys& keys, SourceOptions& options) {
  WindowOptions& window = options.window;
  keys.add("window", window.length, "slots of a window; 0: each message is a question of its own", 0, kMostSlots);
  keys.add("hop", window.hop, "slots from one window to the next; 0: as many as a window has", 0, kMostSlots);
  keys.add_seconds("period", window.period, "length of a slot", 1e-6);
  keys.add(word_key("missing", window.missing, "what stands in a slot without a value",
                    {{"last", Missing::last}, {"linear", Missing::linear}, {"skip", Missing::skip}}));
  keys.add_seconds("lateness", window.lateness, "a window waits so long for values behind the newest one");
  keys.add_seconds("ahead", window.ahead, "a value whose time is further ahead of this machine's clock is refused");
  keys.add("series", options.series, "which sensor a message is of: a template; each series has windows of its own");
  keys.add("join", options.join, "sources with the same word here make windows together, with a row of each");
}

void add_answer_keys(Keys& keys, SourceOptions& options) {
  keys.add("model", options.model, "the model that is asked; without it the one that is served");
  keys.add("top", options.top, "most probable classes in an answer; 0: the numbers that the network gives", 0, 1000);
  keys.add("to", options.to, "the section of mqtt that gets what is sent; without it this one");
  keys.add("answers", options.answers,
           "topic template of the answers, e.g. leaf/{topic[1]}/answer; without it none are sent");
  keys.add("undecided", options.undecided,
           "topic template of samples below the threshold, as they came; without it none are sent");
  keys.add("threshold", options.threshold, "a sample whose most probable class has less than this is undecided", 0, 1);
}

Status check_name(const std::string& name) {
  const bool fits = !name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  if (fits) return {};
  return make_error(Code::invalid_argument, fmt::format("'{}' is no name for a source: it needs letters, digits, _ and "
                                                        "-, at most {}",
                                                        name, kLongestName));
}

Status check_window(const SourceOptions& options) {
  const WindowOptions& window = options.window;
  if (window.length == 0) {
    if (options.join.empty()) return {};
    return make_error(Code::invalid_argument, "key 'join': sources are joined into windows: give window, too");
  }
  MG_TRY(const PayloadFormat* const format, find_payload_format(options.payload.format));
  if (format->is_image)
    return make_error(Code::invalid_argument, "key 'window': windows are of numbers, not of images");
  if (window.lateness / window.period > static_cast<double>(kMostSlots))
    return make_error(Code::invalid_argument, "key 'lateness': at most 1,000,000 slots");
  return {};
}

/// The numbers of all windows that one message can complete. Its first value may lie two windows and the lateness
/// beyond the newest one, and it has values of two more windows.
double numbers_at_once(const WindowOptions& window, std::int64_t rows) {
  const double slots = 4.0 * static_cast<double>(window.length) + window.lateness / window.period + 2;
  const double windows = slots / static_cast<double>(window.step()) + 1;
  return windows * static_cast<double>(rows) * static_cast<double>(window.length);
}

/// Of a section alone.
Status check_source(const SourceOptions& options, const SourcesFile& file) {
  MG_RETURN_IF_ERROR(check_name(options.name));
  MG_RETURN_IF_ERROR(check_payload_options(options.payload));
  MG_RETURN_IF_ERROR(check_window(options));
  for (const auto& [key, text] : {std::pair("answers", options.answers),
                                  {"undecided", options.undecided},
                                  {"series", options.series},
                                  {"id", options.payload.id}})
    MG_RETURN_IF_ERROR(TopicTemplate::parse(text).context(fmt::format("key '{}'", key)));
  if (options.once && (options.payload.id.empty() || file.offline_buffer == 0))
    return make_error(Code::invalid_argument,
                      "key 'once': the ids are kept in the offline buffer: give id and offline_buffer, too");
  if (options.threshold > 0 && options.top == 0)
    return make_error(Code::invalid_argument,
                      "key 'threshold': it needs probabilities of classes: give top, at least 1");
  if (!options.undecided.empty() && options.threshold == 0)
    return make_error(Code::invalid_argument, "key 'undecided': give threshold, too: below it a sample is undecided");
  if (options.max_message > options.queue.bytes)
    return make_error(Code::invalid_argument, "key 'max_message': a message of this length does not fit queue_bytes");
  MG_TRY(const LinkKind* const kind, find_link_kind(options.kind));
  return kind->check(options);
}

/// What this source sends must not come back as a question.
Status check_no_circle(const SourceOptions& source, const SourceOptions& sink) {
  for (const auto& [key, text] : {std::pair("answers", source.answers), {"undecided", source.undecided}}) {
    if (text.empty() || sink.link.topic.empty()) continue;
    MG_TRY(const TopicTemplate topic, TopicTemplate::parse(text));
    if (filters_overlap(sink.link.topic, topic.filter()))
      return make_error(Code::invalid_argument,
                        fmt::format("key '{}': what is sent to '{}' would come back through topic "
                                    "'{}' of section '{}'",
                                    key, text, sink.link.topic, sink.name));
  }
  return {};
}

/// A sink that is given. errors: invalid_argument.
Status check_sink(const SourceOptions& source, const std::vector<SourceOptions>& sources) {
  if (source.answers.empty() && source.undecided.empty()) return {};
  const std::string& name = source.to.empty() ? source.name : source.to;
  const auto sink = std::ranges::find(sources, name, &SourceOptions::name);
  if (sink == sources.end()) return make_error(Code::invalid_argument, "key 'to': there is no section '" + name + "'");
  MG_TRY(const LinkKind* const kind, find_link_kind(sink->kind));
  if (!kind->is_sink)
    return make_error(Code::invalid_argument, "key 'to': section '" + name + "' is of kind " + sink->kind +
                                                  ", to which nothing is sent: name one of kind mqtt");
  // another section may read from the same broker
  for (const SourceOptions& other : sources)
    if (is_same_broker(other.link.url, sink->link.url)) MG_RETURN_IF_ERROR(check_no_circle(source, other));
  return {};
}

Status check_joined(const SourceOptions& source, const std::vector<SourceOptions>& sources) {
  std::int64_t rows = source.join.empty() ? 1 : 0;
  for (const SourceOptions& other : sources) {
    if (source.join.empty() || other.join != source.join) continue;
    ++rows;
    if (other.window != source.window || other.model != source.model)
      return make_error(Code::invalid_argument,
                        fmt::format("key 'join': sections '{}' and '{}' make windows together, so their "
                                    "windows and models must be the same",
                                    other.name, source.name));
  }
  if (source.window.length == 0 || numbers_at_once(source.window, rows) <= kMostNumbersAtOnce) return {};
  return make_error(Code::invalid_argument,
                    "keys 'window', 'hop', 'lateness' and 'join': one message could complete windows of more than "
                    "16,000,000 numbers: make windows shorter, or hop longer, or lateness or the joined sources fewer");
}

/// Which kind a section is of: its own key, or the common one.
Result<std::string> kind_of(const ConfigFile& file, const ConfigFile::Section& section) {
  SourceOptions any;
  SourcesFile whole;
  Keys keys = source_keys(any, "");
  const Keys of_file = file_keys(whole);
  for (const Key& key : of_file.all()) keys.add(key);
  MG_RETURN_IF_ERROR(file.apply(section, keys));
  if (!any.kind.empty()) return any.kind;
  return make_error(Code::invalid_argument,
                    file.where(section.line) + ": section '" + section.name +
                        "' needs a kind: " + fmt::format("{}", fmt::join(row_names(link_kinds()), ", ")));
}

/// The keys of the whole file, which no section may have.
Status read_whole(const ConfigFile& file, SourcesFile& whole) {
  const Keys keys = file_keys(whole);
  for (const ConfigFile::Section& section : file.sections())
    for (const ConfigFile::Setting& setting : section.settings)
      if (keys.find(setting.key) != nullptr)
        return make_error(Code::invalid_argument, file.where(setting.line) + ": key '" + setting.key +
                                                      "' is of the whole file: it stands outside sections");
  return file.apply({}, keys);
}

}  // namespace

Keys source_keys(SourceOptions& options, const std::string& kind) {
  Keys keys;
  keys.add("kind", options.kind, "how messages come: " + fmt::format("{}", fmt::join(row_names(link_kinds()), ", ")));
  std::set<std::string> added;
  for (const LinkKind& row : link_kinds()) {
    if (!kind.empty() && kind != row.name) continue;
    Keys own;
    row.add_keys(own, options.link);
    for (const Key& key : own.all())
      if (added.insert(key.name).second) keys.add(key);
  }
  add_payload_keys(keys, options);
  add_window_keys(keys, options);
  add_answer_keys(keys, options);
  return keys;
}

Keys file_keys(SourcesFile& file) {
  Keys keys;
  keys.add_bytes("offline_buffer", file.offline_buffer,
                 "on disk, for what waits for its sink; 0: what waits is kept in memory");
  keys.add_bytes("unsent", file.unsent, "in memory, for what waits for its sink", 1);
  keys.add("state", file.state_folder, "folder of the offline buffer; without it the state folder of the user");
  keys.add("seen_ids", file.seen_ids, "ids that `once` remembers", 1, 100'000'000);
  return keys;
}

Result<SourcesFile> load_sources(const fs::path& path) {
  MG_TRY(const std::string text, read_file(path));
  return parse_sources(text, path);
}

Result<SourcesFile> parse_sources(const std::string& text, const fs::path& path) {
  MG_TRY(const ConfigFile file, ConfigFile::parse(text, path, {"file of sources", {}, "greenhouse"}));
  if (file.sections().size() > static_cast<std::size_t>(kMostSources))
    return make_error(Code::invalid_argument, path.string() + ": more than 100 sections");
  SourcesFile whole;
  MG_RETURN_IF_ERROR(read_whole(file, whole));
  SourceOptions any;
  std::vector<std::string> known = source_keys(any, "").names();
  for (const std::string& name : file_keys(whole).names()) known.push_back(name);
  MG_RETURN_IF_ERROR(file.check_common(known));
  for (const ConfigFile::Section& section : file.sections()) {
    const std::string where = file.where(section.line) + ": section '" + section.name + "'";
    MG_TRY(const std::string kind, kind_of(file, section));
    if (const auto row = find_link_kind(kind); !row.ok())
      return make_error(Code::invalid_argument, where + ": " + row.error().message);
    SourceOptions options;
    options.name = section.name;
    options.line = section.line;
    MG_RETURN_IF_ERROR(file.apply(section, source_keys(options, kind)));
    MG_RETURN_IF_ERROR(check_source(options, whole).context(where));
    whole.sources.push_back(std::move(options));
  }
  for (const SourceOptions& source : whole.sources) {
    const std::string where = file.where(source.line) + ": section '" + source.name + "'";
    MG_RETURN_IF_ERROR(check_sink(source, whole.sources).context(where));
    MG_RETURN_IF_ERROR(check_joined(source, whole.sources).context(where));
  }
  return whole;
}

}  // namespace mangrove::sensors
