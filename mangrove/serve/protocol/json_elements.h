#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/tensor/tensor.h"

namespace mangrove::serve {

/// The elements of one tensor as they come in JSON: a flat list in row-major order, or lists in lists as the shape has
/// dimensions. 8 bytes an element, whatever the text.
class JsonElements {
 public:
  void begin_list();
  void end_list();
  void add_whole(std::int64_t value);
  /// Also what is above the largest std::int64_t.
  void add_real(double value);
  void add_boolean(bool value);
  /// Something that no tensor here has as an element. what: "a text", "null".
  void add_other(const char* what);

  /// How many lists are open.
  std::size_t depth() const { return open_.size(); }
  std::size_t size() const { return is_real_ ? reals_.size() : wholes_.size(); }

  /// errors: those of count_elements(); invalid_argument (lists that do not have the shape, another number of elements,
  /// an element that the type cannot have).
  Result<Tensor> tensor(DType dtype, const std::vector<std::int64_t>& shape) const;

 private:
  Status check_lists(const std::vector<std::int64_t>& shape, std::int64_t elements) const;
  template <class T>
  Status fill(Tensor& tensor) const;
  void count_one();

  std::vector<std::int64_t> wholes_;  // until the first real comes
  std::vector<double> reals_;
  std::vector<std::int64_t> open_;     // of each open list: what it has so far
  std::vector<std::int64_t> lengths_;  // of the first list of each depth that was closed; -1: none yet
  bool is_real_ = false, has_booleans_ = false, is_ragged_ = false;
  std::string other_;  // what was no element, the first one
};

}  // namespace mangrove::serve
