#include "mangrove/job/keys.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "mangrove/base/check.h"
#include "mangrove/base/printable.h"
#include "mangrove/base/suggestion.h"
#include "mangrove/base/utf8.h"
#include "mangrove/job/keys.pb.h"

namespace mangrove::job {
namespace {

constexpr int kMostElements = 10'000;  // of a list

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using Type = FieldDescriptor::CppType;

/// One value of a field as a variable that base's Keys can read and write; which member counts says the field's type.
struct Value {
  std::string text;
  std::int64_t whole = 0;
  double number = 0;
  bool on = false;
};

/// The double that is written in as few digits as the float: 0.1, not 0.10000000149.
double widened(float value) {
  const std::string digits = fmt::format("{}", value);
  double number = std::numeric_limits<double>::quiet_NaN();
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

std::vector<const FieldDescriptor*> key_fields(const Descriptor& job) {
  std::vector<const FieldDescriptor*> fields;
  for (int i = 0; i < job.field_count(); ++i)
    if (job.field(i)->options().HasExtension(key)) fields.push_back(job.field(i));
  return fields;
}

/// "learning_rate"; "step_timeout" of step_timeout_s.
std::string name_of(const FieldDescriptor& field) {
  const std::string& name = field.name();
  return field.options().GetExtension(key).unit() == SECONDS ? name.substr(0, name.size() - 2) : name;
}

std::int64_t whole_bound(double bound, std::int64_t unbounded) {
  return std::isfinite(bound) ? static_cast<std::int64_t>(bound) : unbounded;
}

/// Of a field that is a whole number.
WholeRange whole_range(const FieldDescriptor& field) {
  const KeyInfo& info = field.options().GetExtension(key);
  const bool is_narrow = field.cpp_type() == Type::CPPTYPE_INT32;
  const std::int64_t most =
      is_narrow ? std::numeric_limits<std::int32_t>::max() : std::numeric_limits<std::int64_t>::max();
  return {.low = whole_bound(info.low(), 0), .high = whole_bound(info.high(), most)};
}

/// The key of a field, reading and writing `value`.
Key bound_key(const FieldDescriptor& field, Value& value) {
  const KeyInfo& info = field.options().GetExtension(key);
  const bool is_float = field.cpp_type() == Type::CPPTYPE_FLOAT;
  const double unbounded = is_float ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  const double high = std::min(info.high(), unbounded);
  const WholeRange range = whole_range(field);
  Keys keys;
  switch (field.cpp_type()) {
    case Type::CPPTYPE_STRING:
      keys.add(name_of(field), value.text, "");
      break;
    case Type::CPPTYPE_BOOL:
      keys.add(name_of(field), value.on, "");
      break;
    case Type::CPPTYPE_FLOAT:
    case Type::CPPTYPE_DOUBLE:
      if (info.unit() == SECONDS)
        keys.add_seconds(name_of(field), value.number, "", info.low(), high);
      else
        keys.add(name_of(field), value.number, "", info.low(), high);
      break;
    case Type::CPPTYPE_INT32:
    case Type::CPPTYPE_INT64:
    case Type::CPPTYPE_UINT64:
      if (info.unit() == BYTES)
        keys.add_bytes(name_of(field), value.whole, "", range.low, range.high);
      else
        keys.add(name_of(field), value.whole, "", range);
      break;
    default:
      MG_CHECK_MSG(false, "no kind of key: " + field.full_name());
  }
  return keys.all().front();
}

/// element: of a repeated field.
Value read(const Message& job, const FieldDescriptor& field, int element) {
  const auto& reflection = *job.GetReflection();
  const bool is_list = field.is_repeated();
  Value value;
  switch (field.cpp_type()) {
    case Type::CPPTYPE_STRING:
      value.text = is_list ? reflection.GetRepeatedString(job, &field, element) : reflection.GetString(job, &field);
      break;
    case Type::CPPTYPE_BOOL:
      value.on = is_list ? reflection.GetRepeatedBool(job, &field, element) : reflection.GetBool(job, &field);
      break;
    case Type::CPPTYPE_FLOAT:
      value.number =
          widened(is_list ? reflection.GetRepeatedFloat(job, &field, element) : reflection.GetFloat(job, &field));
      break;
    case Type::CPPTYPE_DOUBLE:
      value.number = is_list ? reflection.GetRepeatedDouble(job, &field, element) : reflection.GetDouble(job, &field);
      break;
    case Type::CPPTYPE_INT32:
      value.whole = is_list ? reflection.GetRepeatedInt32(job, &field, element) : reflection.GetInt32(job, &field);
      break;
    case Type::CPPTYPE_INT64:
      value.whole = is_list ? reflection.GetRepeatedInt64(job, &field, element) : reflection.GetInt64(job, &field);
      break;
    default:  // what does not fit becomes negative, and is out of range
      value.whole = static_cast<std::int64_t>(is_list ? reflection.GetRepeatedUInt64(job, &field, element)
                                                      : reflection.GetUInt64(job, &field));
  }
  return value;
}

/// A repeated field gets one more element.
void write(Message& job, const FieldDescriptor& field, const Value& value) {
  const auto& reflection = *job.GetReflection();
  const bool is_list = field.is_repeated();
  switch (field.cpp_type()) {
    case Type::CPPTYPE_STRING:
      return is_list ? reflection.AddString(&job, &field, value.text) : reflection.SetString(&job, &field, value.text);
    case Type::CPPTYPE_BOOL:
      return is_list ? reflection.AddBool(&job, &field, value.on) : reflection.SetBool(&job, &field, value.on);
    case Type::CPPTYPE_FLOAT: {
      const auto number = static_cast<float>(value.number);
      return is_list ? reflection.AddFloat(&job, &field, number) : reflection.SetFloat(&job, &field, number);
    }
    case Type::CPPTYPE_DOUBLE:
      return is_list ? reflection.AddDouble(&job, &field, value.number)
                     : reflection.SetDouble(&job, &field, value.number);
    case Type::CPPTYPE_INT32: {
      const auto whole = static_cast<std::int32_t>(value.whole);
      return is_list ? reflection.AddInt32(&job, &field, whole) : reflection.SetInt32(&job, &field, whole);
    }
    case Type::CPPTYPE_INT64:
      return is_list ? reflection.AddInt64(&job, &field, value.whole) : reflection.SetInt64(&job, &field, value.whole);
    default: {
      const auto whole = static_cast<std::uint64_t>(value.whole);
      return is_list ? reflection.AddUInt64(&job, &field, whole) : reflection.SetUInt64(&job, &field, whole);
    }
  }
}

int element_count(const Message& job, const FieldDescriptor& field) {
  return field.is_repeated() ? job.GetReflection()->FieldSize(job, &field) : 1;
}

/// The text form of a field's value: of a list its elements with commas between.
std::string text_of(const Message& job, const FieldDescriptor& field) {
  std::string text;
  for (int i = 0; i < element_count(job, field); ++i) {
    Value value = read(job, field, i);
    text += (i == 0 ? "" : ",") + bound_key(field, value).get();
  }
  return text;
}

/// "1,2, 3" has three elements, "" none.
std::vector<std::string> elements_of(const std::string& list) {
  std::vector<std::string> elements;
  for (std::size_t begin = 0; begin <= list.size() && !list.empty();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string element = list.substr(begin, end - begin);
    const std::size_t first = element.find_first_not_of(' '), last = element.find_last_not_of(' ');
    elements.push_back(first == std::string::npos ? "" : element.substr(first, last - first + 1));
    begin = end + 1;
  }
  return elements;
}

Status set_text(Message& job, const FieldDescriptor& field, const std::string& text) {
  std::vector<Value> values;
  for (const std::string& element : field.is_repeated() ? elements_of(text) : std::vector{text}) {
    if (field.is_repeated() && element.empty())
      return make_error(Code::invalid_argument, fmt::format("'{}' is not a list with commas between", text));
    MG_RETURN_IF_ERROR(bound_key(field, values.emplace_back()).set(element));
  }
  job.GetReflection()->ClearField(&job, &field);
  for (const Value& value : values) write(job, field, value);
  return {};
}

/// Names in place of each {word} of its help; those of a text are its choices.
void fill(Key& key, const HelpWords& words) {
  for (const auto& [word, names] : words) {
    const std::string place = "{" + word + "}";
    const std::size_t at = key.help.find(place);
    if (at == std::string::npos) continue;
    key.help.replace(at, place.size(), join_words(names));
    if (key.value == "TEXT") key.choices = names;
  }
}

Status check_text(const std::string& text) {
  return is_utf8(text) ? Status() : make_error(Code::invalid_argument, "the text is not UTF-8");
}

/// Checks that a key's flag would take the element.
Status check_key(const Message& job, const FieldDescriptor& field, int element) {
  Value value = read(job, field, element);
  const Key taken = bound_key(field, value);
  MG_RETURN_IF_ERROR(check_text(value.text).context(taken.name));
  return taken.set(taken.get()).context(taken.name);
}

Status check_range(const Message& job, const FieldDescriptor& field, int element) {
  const Bounds& allowed = field.options().GetExtension(bounds);
  const bool is_unsigned = field.cpp_type() == Type::CPPTYPE_UINT64;
  const bool is_whole =
      is_unsigned || field.cpp_type() == Type::CPPTYPE_INT64 || field.cpp_type() == Type::CPPTYPE_INT32;
  const Value value = read(job, field, element);
  double number = is_whole ? static_cast<double>(value.whole) : value.number;
  if (is_unsigned) number = static_cast<double>(static_cast<std::uint64_t>(value.whole));
  if (number >= allowed.low() && number <= allowed.high()) return {};
  return make_error(
      Code::invalid_argument,
      fmt::format("'{}' is not {} from {} to {}", is_whole ? fmt::to_string(value.whole) : fmt::to_string(number),
                  is_whole ? "a whole number" : "a number", allowed.low(), allowed.high()));
}

/// Checks an element of a field that is no key.
Status check_other(const Message& job, const FieldDescriptor& field, int element) {
  if (field.cpp_type() == Type::CPPTYPE_MESSAGE)
    return check_keys(field.is_repeated() ? job.GetReflection()->GetRepeatedMessage(job, &field, element)
                                          : job.GetReflection()->GetMessage(job, &field));
  if (field.type() == FieldDescriptor::TYPE_STRING) return check_text(read(job, field, element).text);
  return field.options().HasExtension(bounds) ? check_range(job, field, element) : Status();
}

/// Where in a job a value is, for people; "tiers: cloud" if the messages of a list have names.
std::string place_of(const Message& job, const FieldDescriptor& field, int element) {
  if (!field.is_repeated() || field.cpp_type() != Type::CPPTYPE_MESSAGE) return field.name();
  const Message& inner = job.GetReflection()->GetRepeatedMessage(job, &field, element);
  const FieldDescriptor* name = inner.GetDescriptor()->FindFieldByName("name");
  const bool is_named = name != nullptr && name->type() == FieldDescriptor::TYPE_STRING && !name->is_repeated();
  const std::string text = is_named ? inner.GetReflection()->GetString(inner, name) : std::string();
  constexpr std::size_t kLongestName = 64;  // bytes; others may have written it
  const bool is_for_people = !text.empty() && text.size() <= kLongestName && is_utf8(text);
  return field.name() + ": " + (is_for_people ? printable(text) : fmt::format("element {}", element + 1));
}

}  // namespace

void add_keys(Message& job, const HelpWords& words, Keys& keys) {
  for (const FieldDescriptor* field : key_fields(*job.GetDescriptor())) {
    const KeyInfo& info = field->options().GetExtension(key);
    Value unused;
    Key added = bound_key(*field, unused);
    if (field->is_repeated()) added.value = "LIST";
    added.help = info.help();
    fill(added, words);
    added.group = info.group();
    added.strategies = {info.of().begin(), info.of().end()};
    added.page = info.page();
    added.set = [&job, field](const std::string& text) { return set_text(job, *field, text); };
    added.get = [&job, field] { return text_of(job, *field); };
    keys.add(std::move(added));
  }
}

WholeRange range_of(const Descriptor& job, std::string_view name) {
  const std::vector<const FieldDescriptor*> fields = key_fields(job);
  const auto found =
      std::ranges::find_if(fields, [&](const FieldDescriptor* field) { return name_of(*field) == name; });
  MG_CHECK_MSG(found != fields.end(), "no key of " + job.full_name() + ": " + std::string(name));
  return whole_range(**found);
}

Status check_keys(const Message& job) {
  std::vector<const FieldDescriptor*> present;
  job.GetReflection()->ListFields(job, &present);
  for (const FieldDescriptor* field : present) {
    const int count = field->is_repeated() ? job.GetReflection()->FieldSize(job, field) : 1;
    if (count > kMostElements)
      return make_error(Code::invalid_argument,
                        fmt::format("{}: {} elements, the most is {}", field->name(), count, kMostElements));
    for (int i = 0; i < count; ++i) {
      if (field->options().HasExtension(key)) {
        MG_RETURN_IF_ERROR(check_key(job, *field, i));
      } else {
        MG_RETURN_IF_ERROR(check_other(job, *field, i).context(place_of(job, *field, i)));
      }
    }
  }
  return {};
}

std::string fingerprint(const Message& job, const std::vector<std::string>& strategies) {
  const auto reads = [&](const std::string& row) { return std::ranges::count(strategies, row) > 0; };
  std::string text;
  for (const FieldDescriptor* field : key_fields(*job.GetDescriptor())) {
    const KeyInfo& info = field->options().GetExtension(key);
    const bool is_read = info.of_size() == 0 || std::ranges::any_of(info.of(), reads);
    if (info.resume() && is_read) text += name_of(*field) + "=" + text_of(job, *field) + "\n";
  }
  return text;
}

}  // namespace mangrove::job
