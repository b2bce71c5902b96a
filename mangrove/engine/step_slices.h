#pragma once

#include <cstdint>
#include <vector>

#include "mangrove/engine/buffer_table.h"
#include "mangrove/engine/draft_step.h"
#include "mangrove/engine/slice_groups.h"

namespace mangrove {

/// Groups the steps of a program in the making that are run slice by slice (see plan_slices), and gives the buffers
/// that only a group uses room for one slice. threads: one at a time.
class StepSlices {
 public:
  /// threads: that will run the steps. `steps` and `buffers` outlive this.
  StepSlices(std::vector<DraftStep>& steps, BufferTable& buffers, int threads)
      : steps_(steps), buffers_(buffers), threads_(threads) {}

  /// May change the order of steps within each pass. Once, after the last step was added.
  /// forward_steps: how many of the steps are the forward pass.
  void make_groups(std::size_t forward_steps, std::int64_t batch);
  const std::vector<SliceGroup>& groups() const { return groups_; }

  /// Whether it has room for one slice only.
  bool is_sliced(BufferId buffer) const {
    const auto b = static_cast<std::size_t>(buffer);
    return b < sliced_.size() && sliced_[b];
  }
  /// What a group uses lasts as long as the group, but for what each slice makes anew. After BufferTable::use of all.
  void extend_lives();

 private:
  void group_pass(std::size_t first, std::size_t last, std::int64_t batch);
  bool make_sliced(const SliceGroup& group);
  void set_strides(const SliceGroup& group, const std::vector<int>& uses);
  void resize_workspace(DraftStep& draft);

  std::vector<DraftStep>& steps_;
  BufferTable& buffers_;
  const int threads_;
  std::vector<SliceGroup> groups_;
  std::vector<bool> sliced_;  // by BufferId; of those that came later, nothing: they are not sliced
};

}  // namespace mangrove
