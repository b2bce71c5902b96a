#include "mangrove/cluster/membership.h"

#include <algorithm>
#include <cctype>

#include "mangrove/base/log.h"

namespace mangrove::cluster {
namespace {

constexpr std::size_t kGoneKept = 64;     // nodes that are gone and still listed
constexpr std::size_t kLongestName = 63;  // as for host names

constexpr const char* kNumberMark = "#";  // no name in a certificate has it: "pi-2" may be another member

/// A name goes into logs, files and tables: letters, digits, '.', '_' and '-' stay as they are.
std::string clean_name(const std::string& wanted) {
  std::string name = wanted.substr(0, kLongestName);
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  return name.empty() ? "node" : name;
}

}  // namespace

const char* member_state_name(MemberState state) {
  switch (state) {
    case MemberState::alive:
      return "alive";
    case MemberState::lost:
      return "lost";
    case MemberState::left:
      return "left";
  }
  return "unknown";
}

Member Membership::join(NodeDescription description, const std::string& certified, std::shared_ptr<NodeLink> link,
                        Instant now) {
  MutexLock lock(mutex_);
  description.set_name(free_name(clean_name(certified.empty() ? description.name() : certified)));
  // whoever had this name is gone: the new stay takes its line in the list
  std::erase_if(members_, [&](const Member& old) { return old.description.name() == description.name(); });
  Member member{next_++, MemberState::alive, std::move(description), certified, {}, std::move(link), now};
  detector_.heard_from(member.id, now);
  members_.push_back(member);
  return member;
}

bool Membership::heartbeat(MemberId id, const ResourceUse& use, Instant now) {
  MutexLock lock(mutex_);
  Member* member = find(id);
  if (member == nullptr || member->state != MemberState::alive) return false;
  member->use = use;
  member->heard = now;
  member->rate.update(use, now);
  detector_.heard_from(id, now);
  return true;
}

bool Membership::gone(MemberId id, MemberState state) {
  MutexLock lock(mutex_);
  Member* member = find(id);
  if (member == nullptr || member->state != MemberState::alive) return false;
  member->state = state;
  member->link.reset();
  detector_.forget(id);
  forget_old();
  return true;
}

std::vector<MemberId> Membership::expire(Instant now) {
  MutexLock lock(mutex_);
  std::vector<MemberId> lost = detector_.lost(now);
  for (const MemberId id : lost) {
    Member* member = find(id);
    member->state = MemberState::lost;
    member->link.reset();
  }
  forget_old();
  return lost;
}

bool Membership::alive(MemberId id) const {
  MutexLock lock(mutex_);
  return std::any_of(members_.begin(), members_.end(),
                     [&](const Member& member) { return member.id == id && member.state == MemberState::alive; });
}

std::vector<Member> Membership::alive() const {
  MutexLock lock(mutex_);
  std::vector<Member> found;
  for (const Member& member : members_)
    if (member.state == MemberState::alive) found.push_back(member);
  return found;
}

void Membership::count_job(MemberId id, bool was_idle) {
  MutexLock lock(mutex_);
  Member* member = find(id);
  if (member == nullptr || member->state != MemberState::alive) return;
  member->idle_jobs = was_idle ? member->idle_jobs + 1 : 0;
  if (member->idle_jobs == kMostIdleJobs)
    log_warn("node put aside: it did nothing in its last jobs; it takes part again when it has joined again",
             {{"node", member->description.name()}, {"jobs", member->idle_jobs}});
}

std::vector<Member> Membership::for_jobs() const {
  std::vector<Member> found = alive();
  std::erase_if(found, [](const Member& member) { return member.is_put_aside(); });
  return found;
}

std::vector<std::string> Membership::put_aside() const {
  std::vector<std::string> names;
  for (const Member& member : alive())
    if (member.is_put_aside()) names.push_back(member.description.name());
  return names;
}

std::vector<NodeStatus> Membership::list(Instant now) const {
  MutexLock lock(mutex_);
  std::vector<NodeStatus> statuses;
  for (const Member& member : members_) {
    NodeStatus& status = statuses.emplace_back();
    *status.mutable_description() = member.description;
    *status.mutable_use() = member.use;
    const bool is_idle = member.state == MemberState::alive && member.is_put_aside();
    status.set_state(is_idle ? "idle" : member_state_name(member.state));
    status.set_suspicion(detector_.suspicion(member.id, now));
    status.set_heartbeat_age(now - member.heard);
    status.set_sent_per_s(member.rate.sent());
    status.set_received_per_s(member.rate.received());
  }
  return statuses;
}

Member* Membership::find(MemberId id) {
  const auto found = std::find_if(members_.begin(), members_.end(), [&](const Member& m) { return m.id == id; });
  return found == members_.end() ? nullptr : &*found;
}

std::string Membership::free_name(const std::string& wanted) const {
  const auto taken = [&](const std::string& name) MG_REQUIRES(mutex_) {
    return std::any_of(members_.begin(), members_.end(), [&](const Member& member) {
      return member.state == MemberState::alive && member.description.name() == name;
    });
  };
  std::string name = wanted;
  for (int number = 2; taken(name); ++number) name = wanted + kNumberMark + std::to_string(number);
  return name;
}

void Membership::forget_old() {
  const auto is_gone = [](const Member& member) { return member.state != MemberState::alive; };
  auto gone = static_cast<std::size_t>(std::count_if(members_.begin(), members_.end(), is_gone));
  for (auto member = members_.begin(); gone > kGoneKept && member != members_.end();) {
    if (is_gone(*member)) {
      member = members_.erase(member);
      --gone;
    } else {
      ++member;
    }
  }
}

}  // namespace mangrove::cluster
