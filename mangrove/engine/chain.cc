#include "mangrove/engine/chain.h"

#include <algorithm>
#include <cstddef>

namespace mangrove {
namespace {

// Uses of a buffer, with those that lie in its memory.
struct Use {
  Bytes bytes = 0;
  int first = -1, last = -1;  // steps; -1: none
  int last_forward = -1;
};

std::vector<Use> uses_of(const StepList& steps, int forward_steps) {
  std::vector<Use> uses(steps.buffers().size());
  const auto count = [&](BufferId buffer, int step) {
    if (buffer == kNoBuffer || !steps.buffers().is_planned(buffer)) return;
    Use& use = uses[static_cast<std::size_t>(steps.buffers().owner_of(buffer))];
    use.bytes = std::max(use.bytes, steps.buffers().bytes(buffer));
    if (use.first < 0) use.first = step;
    use.last = step;
    if (step < forward_steps) use.last_forward = step;
  };
  int index = 0;
  for (const DraftStep& step : steps.steps()) {
    for (const BufferId buffer : step.buffers) count(buffer, index);
    count(step.workspace, index++);
  }
  std::erase_if(uses, [](const Use& use) { return use.first < 0; });
  return uses;
}

// The largest sum, at any step of [first, end), of buffers that only the backward pass has.
Bytes largest_transient(const std::vector<Bytes>& backward_bytes, const LinkSteps& link, int forward_steps) {
  Bytes largest = 0;
  for (int step = link.first_backward; step < link.end_backward; ++step) {
    largest = std::max(largest, backward_bytes[static_cast<std::size_t>(step - forward_steps)]);
  }
  return largest;
}

std::vector<Bytes> bytes_of_backward(const std::vector<Use>& uses, int forward_steps, int all_steps) {
  std::vector<Bytes> bytes(static_cast<std::size_t>(all_steps - forward_steps), 0);
  for (const Use& use : uses) {
    if (use.first < forward_steps) continue;
    for (int step = use.first; step <= use.last; ++step)
      bytes[static_cast<std::size_t>(step - forward_steps)] += use.bytes;
  }
  return bytes;
}

int link_of(std::span<const LinkSteps> links, int forward_step) {
  const auto after = std::upper_bound(links.begin(), links.end(), forward_step,
                                      [](int step, const LinkSteps& link) { return step < link.end_forward; });
  return static_cast<int>(after - links.begin());
}

}  // namespace

std::vector<MeasuredLink> measure_chain(const StepList& steps, std::span<const LinkSteps> links) {
  if (links.empty()) return {};
  const int forward_steps = links.back().end_forward;
  const std::vector<Use> uses = uses_of(steps, forward_steps);
  const std::vector<Bytes> backward_bytes = bytes_of_backward(uses, forward_steps, steps.size());
  std::vector<MeasuredLink> measured(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    measured[i].link.transient = largest_transient(backward_bytes, links[i], forward_steps);
  }
  for (const Use& use : uses) {
    if (use.first >= forward_steps) continue;
    const int maker = link_of(links, use.first), reader = link_of(links, use.last_forward);
    MeasuredLink& made = measured[static_cast<std::size_t>(maker)];
    if (use.last >= forward_steps) made.link.kept += use.bytes;
    if (reader > maker) made.last_reader = std::max(made.last_reader, reader);
    for (int i = maker + 1; i <= reader; ++i) measured[static_cast<std::size_t>(i)].link.boundary += use.bytes;
  }
  return measured;
}

}  // namespace mangrove
