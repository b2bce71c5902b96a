#include "mangrove/cluster/node_allocator.h"

#include <algorithm>

#include "mangrove/base/check.h"

namespace mangrove::cluster {
namespace {

constexpr double kRounding = 1e-9;  // of sums of shares

bool fits(const NodeClaim& claim, const Member& node) {
  const auto& labels = node.description.labels();
  return std::ranges::all_of(
      claim.labels, [&](const std::string& label) { return std::ranges::find(labels, label) != labels.end(); });
}

std::size_t count_fitting(const NodeClaim& claim, const std::vector<Member>& all) {
  return static_cast<std::size_t>(std::ranges::count_if(all, [&](const Member& node) { return fits(claim, node); }));
}

}  // namespace

void NodeAllocator::enter(NodeClaim claim) {
  MutexLock lock(mutex_);
  entries_.push_back({.claim = std::move(claim)});
  ++changes_;
}

NodeAllocator::Entries::iterator NodeAllocator::find(const std::string& job) {
  return std::ranges::find_if(entries_, [&](const Entry& entry) { return entry.claim.job == job; });
}

double NodeAllocator::used(MemberId node) const {
  double sum = 0;
  for (const Entry& entry : entries_)
    if (entry.nodes.contains(node)) sum += entry.claim.share;
  return sum;
}

/// The nodes with room for this job, without those that a job which goes first waits for.
std::vector<Member> NodeAllocator::free(const Entry& entry, const std::vector<Member>& all) const {
  std::vector<const Entry*> first;  // jobs that could begin if others did not have their nodes
  bool is_behind = true;            // the entries so far came before this one
  for (const Entry& other : entries_) {
    if (&other == &entry) {
      is_behind = false;
    } else if (other.waits && count_fitting(other.claim, all) >= other.claim.wanted) {
      const int ahead = other.claim.priority - entry.claim.priority;
      // a job that runs leaves nodes to every one that waits with its own priority
      if (ahead > 0 || (ahead == 0 && (is_behind || !entry.waits))) first.push_back(&other);
    }
  }
  std::vector<Member> found;
  for (const Member& node : all) {
    const bool is_kept_for_another =
        std::ranges::any_of(first, [&](const Entry* other) { return fits(other->claim, node); });
    if (fits(entry.claim, node) && !entry.nodes.contains(node.id) && !is_kept_for_another &&
        used(node.id) + entry.claim.share <= 1 + kRounding)
      found.push_back(node);
  }
  return found;
}

Result<std::vector<Member>> NodeAllocator::begin(const std::string& job, const Pick& pick) {
  const std::vector<Member> all = membership_.for_jobs();
  MutexLock lock(mutex_);
  const auto entry = find(job);
  MG_CHECK(entry != entries_.end());
  MG_TRY(std::vector<Member> taken, pick(free(*entry, all), count_fitting(entry->claim, all)));
  for (const Member& node : taken) entry->nodes.insert(node.id);
  if (!taken.empty()) entry->waits = false;
  return taken;
}

std::vector<Member> NodeAllocator::grow(const std::string& job, std::size_t most,
                                        const std::function<bool(MemberId)>& accepts) {
  const std::vector<Member> all = membership_.for_jobs();
  MutexLock lock(mutex_);
  const auto entry = find(job);
  MG_CHECK(entry != entries_.end());
  std::vector<Member> taken = free(*entry, all);
  std::erase_if(taken, [&](const Member& node) { return !accepts(node.id); });
  taken.resize(std::min(taken.size(), most));
  for (const Member& node : taken) entry->nodes.insert(node.id);
  return taken;
}

/// What elastic jobs of lower priority are to give up, so that this one can begin; nothing where that is not enough.
/// promised: nodes that become free for another job; gets those that become free for this one.
std::vector<std::pair<NodeAllocator::Entry*, MemberId>> NodeAllocator::donations(const Entry& needy,
                                                                                 const std::vector<Member>& all,
                                                                                 std::set<MemberId>& promised) {
  std::set<MemberId> chosen;
  std::vector<std::pair<Entry*, MemberId>> given;
  std::size_t found = 0;
  const auto choose = [&](MemberId node) {
    if (found < needy.claim.wanted && !promised.contains(node) && chosen.insert(node).second) ++found;
  };
  for (const Member& node : free(needy, all)) choose(node.id);
  std::vector<Entry*> donors;
  for (Entry& entry : entries_)
    if (entry.claim.is_elastic && entry.claim.priority < needy.claim.priority) donors.push_back(&entry);
  for (Entry* donor : donors)
    for (const MemberId node : donor->leaving) choose(node);
  std::ranges::reverse(donors);  // those that came last give first
  std::ranges::stable_sort(donors, {}, [](const Entry* donor) { return donor->claim.priority; });
  for (Entry* donor : donors) {
    auto rest = std::ranges::count_if(
        donor->nodes, [&](MemberId node) { return !donor->leaving.contains(node) && !promised.contains(node); });
    for (auto node = all.rbegin(); node != all.rend() && rest > 1 && found < needy.claim.wanted; ++node) {
      const bool has = donor->nodes.contains(node->id) && !donor->leaving.contains(node->id);
      const bool is_taken = chosen.contains(node->id) || promised.contains(node->id);
      const bool makes_room = used(node->id) - donor->claim.share + needy.claim.share <= 1 + kRounding;
      if (!has || !fits(needy.claim, *node) || !makes_room || is_taken) continue;
      choose(node->id);
      given.emplace_back(donor, node->id);
      --rest;
    }
  }
  if (found < needy.claim.wanted) return {};
  promised.merge(chosen);
  return given;
}

std::vector<MemberId> NodeAllocator::to_give_up(const std::string& job) {
  const std::vector<Member> all = membership_.for_jobs();
  MutexLock lock(mutex_);
  const auto asked = find(job);
  MG_CHECK(asked != entries_.end());
  if (!asked->claim.is_elastic) return {};
  std::vector<const Entry*> needy;
  for (const Entry& entry : entries_)
    if (entry.waits) needy.push_back(&entry);
  std::ranges::stable_sort(needy, std::greater(), [](const Entry* entry) { return entry->claim.priority; });
  std::set<MemberId> promised;
  std::vector<MemberId> own;
  for (const Entry* entry : needy)
    for (const auto& [donor, node] : donations(*entry, all, promised))
      if (donor == &*asked) own.push_back(node);
  asked->leaving.insert(own.begin(), own.end());
  return own;
}

void NodeAllocator::release(const std::string& job, MemberId node) {
  MutexLock lock(mutex_);
  const auto entry = find(job);
  if (entry == entries_.end()) return;
  entry->nodes.erase(node);
  entry->leaving.erase(node);
  ++changes_;
}

void NodeAllocator::leave(const std::string& job) {
  MutexLock lock(mutex_);
  const auto entry = find(job);
  if (entry == entries_.end()) return;
  entries_.erase(entry);
  ++changes_;
}

std::vector<std::string> NodeAllocator::others_at_work(const std::string& job) const {
  MutexLock lock(mutex_);
  std::vector<std::string> names;
  for (const Entry& entry : entries_)
    if (!entry.waits && entry.claim.job != job) names.push_back(entry.claim.job);
  return names;
}

}  // namespace mangrove::cluster
