#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/job/json.h"

namespace mangrove::job {

// What is sent or kept as JSON is a struct that describes its fields once, in their order. Writer, reader and the check
// of docs/json.md follow that description, so that none of them can differ from the others:
//
//   struct Sample {
//     std::string node;
//     std::optional<double> temperature;  // the key is not there without one
//     std::optional<double> accuracy;     // null without one
//
//     static void fields(auto& self, auto& field) {
//       field("node", self.node);
//       field("temperature_c", self.temperature);
//       field.or_null("accuracy", self.accuracy);
//     }
//   };
//
// A member is a bool, a number, a string, a described struct, Json as it is, or a vector, map (by name) or optional of
// these. An optional within a vector is null without a value. A number that is none (NaN) is null, as JSON has no other
// way to say it. The fields of another struct among these: Other::fields(self.other, field).

/// A visitor that collects keys, those of structs within too.
class FieldNames {
 public:
  template <class T>
  void operator()(const char* name, T& member) {
    names_.emplace_back(name);
    visit(member);
  }
  template <class T>
  void or_null(const char* name, T& member) {
    (*this)(name, member);
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  template <class T>
  void visit(T& member) {
    if constexpr (requires { T::fields(member, *this); }) T::fields(member, *this);
  }
  template <class T>
  void visit(std::vector<T>&) {
    if constexpr (std::is_class_v<T>) visit_new<T>();
  }
  template <class T>
  void visit(std::optional<T>&) {
    visit_new<T>();
  }
  template <class T>
  void visit_new() {
    T made{};
    visit(made);
  }

  std::vector<std::string> names_;
};

template <class T>
concept Described = requires(T& value, FieldNames& names) {
  T::fields(value, names);
};

/// The keys of a described struct, in order, each followed by those of the structs below it.
template <Described T>
std::vector<std::string> field_names() {
  FieldNames names;
  T value{};
  T::fields(value, names);
  return names.names();
}

// ---- writing

template <class T>
Json json_of(const T& value);

/// A visitor that adds fields to an object.
class FieldWriter {
 public:
  explicit FieldWriter(Json& object) : object_(object) {}

  template <class T>
  void operator()(const char* name, const T& member) {
    object_[name] = json_of(member);
  }
  template <class T>
  void operator()(const char* name, const std::optional<T>& member) {
    if (member) object_[name] = json_of(*member);
  }
  template <class T>
  void or_null(const char* name, const std::optional<T>& member) {
    object_[name] = json_of(member);
  }

 private:
  Json& object_;
};

namespace fields {

template <class T>
Json written(const T& value) {
  if constexpr (Described<T>) {
    Json object = Json::object();
    FieldWriter writer(object);
    T::fields(value, writer);
    return object;
  } else {
    return value;
  }
}
template <class T>
Json written(const std::vector<T>& values) {
  Json array = Json::array();
  for (const auto& value : values) array.push_back(json_of(value));
  return array;
}
template <class T>
Json written(const std::map<std::string, T>& values) {
  Json object = Json::object();
  for (const auto& [name, value] : values) object[name] = json_of(value);
  return object;
}
template <class T>
Json written(const std::optional<T>& value) {
  return value ? json_of(*value) : Json();
}

}  // namespace fields

template <class T>
Json json_of(const T& value) {
  return fields::written(value);
}

/// Adds the fields to an object that has others.
template <Described T>
void add_fields(const T& value, Json& object) {
  FieldWriter writer(object);
  T::fields(value, writer);
}

// ---- reading

/// Of numbers that are read: a few can be added and multiplied without leaving their type.
constexpr double kLargestNumber = 1e100;
constexpr std::int64_t kLargestWhole = 1'000'000'000'000'000;

/// Any of nlohmann's types of JSON.
template <class J>
concept AnyJson = requires(const J& json) {
  typename J::error_handler_t;
  json.type_name();
};

template <AnyJson J, class T>
Status read_into(const J& json, T& value);

/// A visitor that takes fields out of an object, until one is missing or of another type. Other keys are left out.
template <AnyJson J>
class FieldReader {
 public:
  explicit FieldReader(const J& object) : object_(object) {}

  template <class T>
  void operator()(const char* name, T& member) {
    if (!status_.ok()) return;
    const auto found = object_.find(name);
    status_ = found == object_.end() ? make_error(Code::data_loss, std::string(name) + ": is missing")
                                     : read_into(*found, member).context(name);
  }
  template <class T>
  void operator()(const char* name, std::optional<T>& member) {
    member.reset();
    if (status_.ok() && object_.contains(name)) take(name, member);
  }
  template <class T>
  void or_null(const char* name, std::optional<T>& member) {
    member.reset();
    if (!status_.ok()) return;
    const auto found = object_.find(name);
    if (found == object_.end() || !found->is_null()) take(name, member);
  }

  Status take_status() { return std::move(status_); }

 private:
  template <class T>
  void take(const char* name, std::optional<T>& member) {
    T value{};  // not by emplace(): clang knows no constructor of a struct within the one that has this member
    (*this)(name, value);
    member = std::move(value);
  }

  const J& object_;
  Status status_;
};

namespace fields {

template <AnyJson J>
Error unlike(const J& json, const char* expected) {
  return make_error(Code::data_loss, std::string("expected ") + expected + ", got " + json.type_name());
}

template <AnyJson J>
Status read(const J& json, bool& value) {
  if (!json.is_boolean()) return unlike(json, "true or false");
  value = json.template get<bool>();
  return {};
}
template <AnyJson J, std::integral T>
Status read(const J& json, T& value) {
  if (!json.is_number_integer()) return unlike(json, "a whole number");
  const bool is_beyond = json.is_number_unsigned() && json.template get<std::uint64_t>() > std::uint64_t{kLargestWhole};
  const auto number = json.template get<std::int64_t>();
  if (is_beyond || number < -kLargestWhole || number > kLargestWhole || !std::in_range<T>(number))
    return make_error(Code::data_loss, json.dump() + " is out of range");
  value = static_cast<T>(number);
  return {};
}
template <AnyJson J, std::floating_point T>
Status read(const J& json, T& value) {
  if (json.is_null()) {
    value = std::numeric_limits<T>::quiet_NaN();
    return {};
  }
  if (!json.is_number()) return unlike(json, "a number");
  const auto number = json.template get<double>();
  if (!(std::abs(number) <= std::min<double>(kLargestNumber, std::numeric_limits<T>::max())))
    return make_error(Code::data_loss, json.dump() + " is out of range");
  value = static_cast<T>(number);
  return {};
}
template <AnyJson J>
Status read(const J& json, std::string& value) {
  if (!json.is_string()) return unlike(json, "a text");
  value = json.template get<std::string>();
  return {};
}
template <AnyJson J>
Status read(const J& json, Json& value) {
  value = json;
  return {};
}
template <AnyJson J, Described T>
Status read(const J& json, T& value) {
  if (!json.is_object()) return unlike(json, "an object");
  FieldReader<J> reader(json);
  T::fields(value, reader);
  return reader.take_status();
}
template <AnyJson J, class T>
Status read(const J& json, std::vector<T>& values) {
  if (!json.is_array()) return unlike(json, "a list");
  values.clear();
  for (const J& one : json) {
    T value{};
    MG_RETURN_IF_ERROR(read_into(one, value).context(std::to_string(values.size())));
    values.push_back(std::move(value));
  }
  return {};
}
template <AnyJson J, class T>
Status read(const J& json, std::map<std::string, T>& values) {
  if (!json.is_object()) return unlike(json, "an object");
  values.clear();
  for (const auto& [name, one] : json.items()) MG_RETURN_IF_ERROR(read_into(one, values[name]).context(name));
  return {};
}
template <AnyJson J, class T>
Status read(const J& json, std::optional<T>& value) {
  value.reset();
  if (json.is_null()) return {};
  T read{};
  const Status status = read_into(json, read);
  value = std::move(read);
  return status;
}

}  // namespace fields

template <AnyJson J, class T>
Status read_into(const J& json, T& value) {
  return fields::read(json, value);
}

/// errors: data_loss (a key is missing, or a value is of another type or out of range; names it: "stages: 2: node").
template <Described T, AnyJson J>
Result<T> read_json(const J& json) {
  T value{};
  MG_RETURN_IF_ERROR(read_into(json, value));
  return value;
}

/// errors: those of read_json; data_loss (no JSON).
template <Described T>
Result<T> parse_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return make_error(Code::data_loss, "expected JSON");
  return read_json<T>(json);
}

}  // namespace mangrove::job
