#include "mangrove/serve/protocol/json_tree.h"

#include <limits>
#include <new>
#include <string>
#include <utility>

#include "mangrove/base/printable.h"

namespace mangrove::serve {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestQuoted = 64;  // of a key in an error
constexpr const char* kNoList = "a tensor whose 'data' are no list";

/// Takes what the parser reads, value by value. A function that returns false ends the parser.
class TreeBuilder {
 public:
  TreeBuilder(JsonTree& tree, const JsonLimits& limits) : tree_(tree), limits_(limits) {}

  bool null() { return in_elements() ? (elements().add_other("null"), true) : add(nullptr); }
  bool boolean(bool value) { return in_elements() ? (elements().add_boolean(value), true) : add(value); }
  bool number_integer(std::int64_t value) { return in_elements() ? (elements().add_whole(value), true) : add(value); }
  bool number_unsigned(std::uint64_t value) {
    if (!in_elements()) return add(value);
    if (value > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
      elements().add_real(static_cast<double>(value));
    else
      elements().add_whole(static_cast<std::int64_t>(value));
    return true;
  }
  bool number_float(double value, const std::string& /*text*/) {
    return in_elements() ? (elements().add_real(value), true) : add(value);
  }
  bool string(std::string& value) {
    return in_elements() ? (elements().add_other("a text"), true) : add(std::move(value));
  }
  bool binary(json::binary_t& /*value*/) { return false; }  // not in texts

  bool start_object(std::size_t /*size*/) {
    if (in_elements()) return fail("an object in the data of a tensor");
    if (is_place_of_elements()) return fail(kNoList);
    return open(json::object());
  }
  bool key(std::string& value) {
    if (top().contains(value)) return fail("the key '" + cut_short(value, kLongestQuoted) + "' twice");
    key_ = std::move(value);
    return true;
  }
  bool end_object() { return close(); }

  bool start_array(std::size_t /*size*/) {
    if (in_elements() || is_place_of_elements()) return open_elements();
    return open(json::array());
  }
  bool end_array() {
    if (!in_elements()) return close();
    elements().end_list();
    if (elements().depth() == 0) in_elements_ = false;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/, const json::exception& /*error*/) {
    problem_ = "the body is no JSON from its byte " + std::to_string(position) + " on";
    return false;
  }

  const std::string& problem() const { return problem_; }

 private:
  bool in_elements() const { return in_elements_; }
  JsonElements& elements() { return tree_.elements.back(); }
  json& top() { return *open_.back(); }

  bool fail(const std::string& what) {
    problem_ = "the JSON has " + what;
    return false;
  }

  /// Whether the value that comes is "data" in an object of the list of tensors of the root.
  bool is_place_of_elements() const {
    return open_.size() == 3 && key_ == "data" && open_[1] == tensors_ && open_[2]->is_object();
  }

  bool open_elements() {
    if (!in_elements_) {
      if (put(tree_.elements.size()) == nullptr) return false;
      tree_.elements.emplace_back();
      in_elements_ = true;
    }
    if (open_.size() + elements().depth() >= limits_.depth) return too_deep();
    elements().begin_list();
    return true;
  }
  bool too_deep() { return fail("lists and objects more than " + std::to_string(limits_.depth) + " deep"); }

  /// Puts a value at its place: the root, a new key of an object, or the end of a list.
  json* put(json value) {
    if (++values_ > limits_.values) {
      fail("more than " + std::to_string(limits_.values) + " values besides the data of tensors");
      return nullptr;
    }
    if (open_.empty()) return &(tree_.root = std::move(value));
    if (top().is_object()) return &(top()[key_] = std::move(value));
    top().push_back(std::move(value));
    return &top().back();
  }
  bool add(json value) {
    if (is_place_of_elements()) return fail(kNoList);
    return put(std::move(value)) != nullptr;
  }
  bool open(json empty) {
    if (open_.size() >= limits_.depth) return too_deep();
    const bool is_tensors = open_.size() == 1 && top().is_object() && key_ == limits_.tensors && empty.is_array();
    json* const placed = put(std::move(empty));
    if (placed == nullptr) return false;
    open_.push_back(placed);
    if (is_tensors) tensors_ = placed;
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  JsonTree& tree_;
  const JsonLimits& limits_;
  std::vector<json*>
      open_;  // the lists and objects that are not complete; a list does not grow while one of it is open
  const json* tensors_ = nullptr;
  std::string key_;  // of the value that comes next
  std::string problem_;
  std::size_t values_ = 0;
  bool in_elements_ = false;
};

}  // namespace

Result<JsonTree> parse_json_tree(std::string_view text, const JsonLimits& limits) {
  JsonTree tree;
  TreeBuilder builder(tree, limits);
  try {
    if (json::sax_parse(text.begin(), text.end(), &builder)) return tree;
  } catch (const std::bad_alloc&) {
    return make_error(Code::resource_exhausted, "no memory for the JSON of a request");
  } catch (const json::exception&) {
    return make_error(Code::invalid_argument, "the body is no JSON");
  }
  return make_error(Code::invalid_argument, builder.problem());
}

}  // namespace mangrove::serve
