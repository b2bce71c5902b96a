#include "mangrove/cluster/job_members.h"

#include <algorithm>
#include <utility>

#include "mangrove/identity/subject.h"

namespace mangrove::cluster {
namespace {

std::string subject_of(const Member& node) {
  return node.certified.empty() ? "" : identity::Subject{identity::Role::node, node.certified}.uri();
}

}  // namespace

void JobMembers::begin(std::vector<Member> nodes) {
  for (Member& node : nodes) entries_.push_back({std::move(node)});
}

void JobMembers::add(Member node) {
  entries_.push_back({std::move(node)});
  introduction_ = ++version_;
}

bool JobMembers::lose(MemberId node) {
  if (!has(node) || entries_[place(node)].gone) return false;
  entries_[place(node)].gone = true;
  ++version_;
  return true;
}

bool JobMembers::give_up(MemberId node) {
  if (!lose(node)) return false;
  entries_[place(node)].given_up = true;
  tell_to_end(entries_[place(node)]);
  return true;
}

bool JobMembers::end(MemberId node, net::Rank rank) {
  const auto i = static_cast<std::size_t>(rank) - 1;
  if (rank < 1 || i >= entries_.size() || entries_[i].node.id != node) return false;
  entries_[i].ended = true;
  return true;
}

bool JobMembers::may_come(MemberId node) const {
  if (!has(node)) return true;
  const Entry& entry = entries_[place(node)];
  return entry.given_up && (entry.ended || place(node) >= started_);
}

void JobMembers::know(MemberId node, std::uint64_t version) {
  if (!has(node)) return;
  std::uint64_t& known = entries_[place(node)].known;
  known = std::max(known, std::min(version, version_));
}

net::Rank JobMembers::rank_of(const std::string& name) const {
  const auto found = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return !entry.gone && entry.node.description.name() == name; });
  return found == entries_.end() ? 0 : static_cast<net::Rank>(found - entries_.begin()) + 1;
}

std::size_t JobMembers::alive_count() const {
  return static_cast<std::size_t>(std::ranges::count(entries_, false, &Entry::gone));
}

std::map<net::Rank, MemberId> JobMembers::at_work() const {
  std::map<net::Rank, MemberId> found;
  for (std::size_t i = 0; i < started_; ++i)
    if (!entries_[i].gone) found[static_cast<net::Rank>(i) + 1] = entries_[i].node.id;
  return found;
}

bool JobMembers::all_ended() const {
  return std::ranges::all_of(entries_, [](const Entry& entry) { return entry.ended || entry.gone; });
}

net::Members JobMembers::members() const {
  net::Members all{.version = version_, .all = {{0, "coordinator", true}}};
  for (const Entry& entry : entries_)
    all.all.push_back({static_cast<net::Rank>(all.all.size()), entry.node.description.name(), !entry.gone});
  return all;
}

std::map<net::Rank, std::string> JobMembers::addresses() const {
  std::map<net::Rank, std::string> found{{0, own_address_}};
  for (const Entry& entry : entries_) found[static_cast<net::Rank>(found.size())] = entry.node.description.address();
  return found;
}

net::Subjects JobMembers::subjects() const {
  net::Subjects found;
  if (!own_subject_.empty()) found[0] = own_subject_;
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (const std::string subject = subject_of(entries_[i].node); !subject.empty())
      found[static_cast<net::Rank>(i) + 1] = subject;
  return found;
}

std::optional<net::Members> JobMembers::publish() {
  if (!has_changed()) return std::nullopt;
  published_ = version_;
  ToNode message;
  MembersChanged& changed = *message.mutable_members_changed();
  changed.set_job_id(job_);
  changed.set_version(version_);
  fill_ranks(*changed.mutable_ranks());
  for (std::size_t i = 0; i < started_; ++i)
    if (!entries_[i].gone) entries_[i].node.link->send(message);
  net::Members at_work = members();
  at_work.all.resize(started_ + 1);
  return at_work;
}

std::vector<JobMembers::Unaware> JobMembers::unaware() const {
  std::vector<Unaware> found;
  if (started_ == entries_.size()) return found;  // there are no newcomers
  for (std::size_t i = 0; i < started_; ++i) {
    const Entry& entry = entries_[i];
    if (!entry.gone && !entry.ended && entry.known < introduction_) found.push_back({entry.node.id, entry.known});
  }
  return found;
}

std::optional<net::Members> JobMembers::introduce() {
  if (started_ == entries_.size() || !unaware().empty()) return std::nullopt;
  ++version_;  // of what rank 0 knows
  return members();
}

void JobMembers::start(const net::Members& known) {
  for (; started_ + 1 < known.all.size(); ++started_) {
    if (entries_[started_].gone) continue;
    ToNode message;
    StartRole& role = *message.mutable_start_role();
    role.set_job_id(job_);
    role.set_rank(static_cast<int>(started_) + 1);
    fill_ranks(*role.mutable_ranks());
    entries_[started_].node.link->send(std::move(message));
  }
}

void JobMembers::end_roles() {
  entries_.resize(started_);
  for (const Entry& entry : entries_) tell_to_end(entry);
}

void JobMembers::tell_to_end(const Entry& entry) const {
  ToNode message;
  message.mutable_end_role()->set_job_id(job_);
  entry.node.link->send(std::move(message));
}

std::size_t JobMembers::place(MemberId node) const {
  for (std::size_t i = entries_.size(); i > 0; --i)
    if (entries_[i - 1].node.id == node) return i - 1;
  return entries_.size();
}

void JobMembers::fill_ranks(google::protobuf::RepeatedPtrField<RankAddress>& ranks) const {
  const std::map<net::Rank, std::string> where = addresses();
  const net::Subjects whose = subjects();
  for (const net::Member& member : members().all) {
    RankAddress& rank = *ranks.Add();
    rank.set_rank(member.rank);
    rank.set_name(member.name);
    rank.set_alive(member.alive);
    if (const auto subject = whose.find(member.rank); subject != whose.end()) rank.set_subject(subject->second);
    rank.set_address(where.at(member.rank));
  }
}

}  // namespace mangrove::cluster
