#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/engine/backend.h"
#include "mangrove/engine/buffer_table.h"
#include "mangrove/engine/draft_step.h"
#include "mangrove/engine/step_slices.h"

namespace mangrove {

/// The steps of a program in the making. Finds the buffer of every operand, puts a reorder in front of a step that
/// wants another layout than a value has, and turns a second contribution to a gradient into an addition.
class StepList {
 public:
  enum class Role { input, parameter, constant, activation };

  /// One value (or gradient) in one layout.
  struct Copy {
    LayoutPtr layout;
    BufferId buffer;
  };
  struct Value {
    ValueInfo info;  // batch bound
    Role role = Role::activation;
    bool is_output = false;
    std::vector<Copy> copies = {};           // the first is how it lies; empty: not made yet, or dropped
    LayoutPtr dropped_layout = {};           // how it lay before it was dropped
    std::vector<Copy> gradient_copies = {};  // the same for its gradient
    BufferId given_gradient = kNoBuffer;     // of a graph output in training: written by the user before backward
  };

  /// accumulate_gradients: backward adds to the gradients of parameters instead of overwriting them.
  /// threads: that will run the steps.
  StepList(const Backend& backend, bool accumulate_gradients, int threads)
      : backend_(backend),
        accumulate_gradients_(accumulate_gradients),
        threads_(threads),
        slices_(steps_, buffers_, threads) {}
  StepList(const StepList&) = delete;

  /// Announces a value before the step that makes it. Inputs get their buffer at once.
  void declare(const std::string& name, const ValueInfo& info, Role role, bool is_output);
  /// A graph output whose gradient the user gives.
  void declare_given_gradient(const std::string& name);

  /// `backend`: whose step it is, for traces. errors: those of Backend::make_reorder.
  Status append(Step step, const std::string& backend);
  /// Gives the parameter's gradient its memory even where no step writes it (it then stays zero).
  void keep_gradient(const std::string& name);

  const std::map<std::string, Value>& values() const { return values_; }
  const Value& value(const std::string& name) const { return values_.at(name); }
  /// Forgets where an activation lies, which is no output: the next step that writes it makes it anew.
  void drop(const std::string& value);
  /// Forgets all that the node saved.
  void drop_saved(const std::string& node);
  /// Whether the value (or what the node saved) that the operand reads lies somewhere.
  bool is_made(const Operand& operand, const std::string& node) const;

  /// Whether anything has contributed to the value's gradient.
  bool has_gradient(const std::string& name) const;
  int size() const { return static_cast<int>(steps_.size()); }

  /// Groups steps that are run slice by slice; may change the order of steps. Once, after the last append.
  /// forward_steps: how many of the steps are the forward pass.
  void slice(std::size_t forward_steps, std::int64_t batch) { slices_.make_groups(forward_steps, batch); }
  const std::vector<SliceGroup>& slice_groups() const { return slices_.groups(); }
  /// Decides which buffers share memory and where all lie. Call once, at the end.
  BufferTable::Placement place();
  const std::vector<DraftStep>& steps() const { return steps_; }
  const BufferTable& buffers() const { return buffers_; }
  /// Where the RandomState lies; kNoBuffer where no step reads it.
  BufferId random_state() const { return random_; }
  std::vector<DraftStep> take_steps() { return std::move(steps_); }

 private:
  /// What must follow a step that wrote a value or gradient elsewhere than where it belongs.
  struct Follow {
    Operand what;
    std::optional<std::pair<Copy, Copy>> reorder = {};  // from, to
    BufferId sum = kNoBuffer;                           // then sum += term
    BufferId term = kNoBuffer;
  };

  // read and write also let the operand share the Layout of the value.
  Result<BufferId> read(Operand& operand, const std::string& node);
  Result<BufferId> read_copy(std::vector<Copy>& copies, Operand& operand, const std::string& node);
  void append_zero_gradient(const Operand& operand, const std::string& node);
  BufferId write(Operand& operand, const std::string& node, std::vector<Follow>& follows);
  BufferId write_value(Value& value, Operand& operand, std::vector<Follow>& follows);
  BufferId write_gradient(Value& value, Operand& operand, std::vector<Follow>& follows);
  Status append_follow(const Follow& follow, const std::string& node);
  Status append_reorder(const Operand& what, const Copy& from, const Copy& to, const std::string& node);
  BufferId add_gradient(const Value& value);
  BufferId add_buffer(const Value& value, const LayoutPtr& layout);
  void push(Step step, std::vector<BufferId> buffers, const std::string& backend);
  void share_view(int index, const std::vector<int>& writes);
  void share_in_place(int index);

  const Backend& backend_;
  bool accumulate_gradients_;
  int threads_;
  std::map<std::string, Value> values_;
  std::map<std::string, BufferId> saved_;  // by "node/name"
  BufferId random_ = kNoBuffer;
  std::vector<DraftStep> steps_;
  BufferTable buffers_;
  StepSlices slices_;
};

/// Bytes of a value in this layout.
Bytes bytes_in(const ValueInfo& info, const LayoutPtr& layout);

}  // namespace mangrove
