#include "mangrove/cluster/coordinator_search.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <thread>

#include "mangrove/base/log.h"
#include "mangrove/base/mutex.h"
#include "mangrove/base/stop.h"
#include "mangrove/base/units.h"
#include "mangrove/cluster/discovery.h"
#include "mangrove/identity/peek.h"

namespace mangrove::cluster {
namespace {

using identity::Certificate;

constexpr Seconds kSearchFor = 3;
constexpr Seconds kCallFirstFor = 3, kCallFor = 60;  // before a search
constexpr Seconds kLeastPause = 1;                   // after a round in which nobody was found
constexpr std::size_t kMostAddresses = 32;

/// Looks at announced addresses, each in a thread, for the one that is right.
class Candidates {
 public:
  Candidates(const std::vector<std::string>& authority_hashes, Deadline deadline)
      : authority_hashes_(authority_hashes), deadline_(deadline) {}

  void add(const std::string& address) {
    if (addresses_.size() == kMostAddresses || !addresses_.insert(address).second) return;
    threads_.emplace_back([this, address](const std::stop_token& stop) { look_at(address, stop); });
  }
  std::optional<std::string> right() const {
    MutexLock lock(mutex_);
    return right_;
  }
  std::size_t count() const { return addresses_.size(); }

 private:
  void look_at(const std::string& address, const std::stop_token& stop) {
    const auto shown = identity::peek_once(address, deadline_, stop);
    if (!shown.ok()) return;  // nobody answers
    const Status is_right = check_coordinator(*shown, authority_hashes_, identity::wall_now());
    if (!is_right.ok()) {
      log_warn("announces itself as this cluster's coordinator, and is not; nothing was said to it",
               {{"address", address}, {"reason", is_right.error().message}});
      return;
    }
    MutexLock lock(mutex_);
    if (!right_) right_ = address;
  }

  const std::vector<std::string>& authority_hashes_;
  const Deadline deadline_;
  std::set<std::string> addresses_;
  mutable Mutex mutex_;
  std::optional<std::string> right_ MG_GUARDED_BY(mutex_);
  std::vector<std::jthread> threads_;
};

}  // namespace

std::vector<std::string> hashes_of(const std::vector<Certificate>& authorities) {
  std::vector<std::string> hashes(authorities.size());
  std::ranges::transform(authorities, hashes.begin(), &Certificate::hash);
  return hashes;
}

Status check_coordinator(const std::optional<std::vector<Certificate>>& shown,
                         const std::vector<std::string>& authority_hashes, identity::WallTime now) {
  if (!shown) return make_error(Code::permission_denied, "it has no certificate");
  std::vector<Certificate> authorities;
  std::ranges::copy_if(*shown, std::back_inserter(authorities), [&](const Certificate& one) {
    return one.is_authority() && std::ranges::find(authority_hashes, one.hash()) != authority_hashes.end();
  });
  if (authorities.empty()) return make_error(Code::permission_denied, "it is of another cluster");
  MG_RETURN_IF_ERROR(check_chain(*shown, authorities, now));
  MG_TRY(const identity::Subject subject, shown->front().subject());
  if (subject.role == identity::Role::coordinator) return {};
  return make_error(Code::permission_denied, std::string("it is a ") + role_name(subject.role));
}

Result<std::string> search_coordinator(const std::vector<std::string>& authority_hashes, Deadline deadline,
                                       const std::stop_token& stop) {
  const Seconds patience = std::max(deadline - SteadyClock().now(), 0.0);
  Candidates candidates(authority_hashes, deadline);
  MG_RETURN_IF_ERROR(listen_for_coordinators(
      authority_hashes, deadline, [&](const std::string& address) { candidates.add(address); },
      [&] { return candidates.right().has_value() || stop.stop_requested(); }));
  if (const auto right = candidates.right()) return *right;
  if (stop.stop_requested()) return make_error(Code::cancelled, "stopped while searching");
  const std::string heard = candidates.count() == 0
                                ? "nobody announces this cluster on the local network"
                                : "none of those that announce this cluster on the local network is its coordinator";
  return make_error(Code::unavailable, heard + " (listened for " + format_seconds(patience) + ")");
}

Status call_or_search(const std::string& address, const std::vector<std::string>& authority_hashes, Deadline deadline,
                      const std::stop_token& stop, const CoordinatorCall& call) {
  const SteadyClock clock;
  const auto rest = [&] { return std::max(deadline - clock.now(), 0.0); };
  const auto is_over = [](const Status& called) { return called.ok() || called.code() != Code::unavailable; };
  for (Seconds patience = kCallFirstFor;; patience = kCallFor) {
    const Deadline first = clock.after(std::min(patience, rest() / 2));
    Status called =
        address.empty()
            ? Status(make_error(Code::unavailable, "the join string has no address, and --coordinator gives none"))
            : call(address, first);
    if (is_over(called) || stop.stop_requested()) return called;
    const Result<std::string> found =
        search_coordinator(authority_hashes, std::min(deadline, clock.after(kSearchFor)), stop);
    if (found.ok()) {
      log_warn("found the coordinator of this cluster",
               {{"address", *found}, {"instead_of", address}, {"reason", called.error().message}});
      called = call(*found, std::min(deadline, clock.after(kCallFor)));
    } else if (found.code() == Code::failed_precondition && !address.empty()) {
      called = call(address, deadline);
    }
    if (is_over(called)) return called;
    const bool may_come = found.ok() || found.code() == Code::unavailable || found.code() == Code::failed_precondition;
    if (!may_come || rest() <= kLeastPause) {
      if (may_come) wait_for_stop(stop, rest());
      if (found.ok()) return called;
      return make_error(may_come ? Code::unavailable : found.code(),
                        called.error().message + "; " + found.error().message);
    }
    // who answers, and is not the coordinator, does so at once
    wait_for_stop(stop, std::min(rest(), std::max(first - clock.now(), kLeastPause)));
  }
}

}  // namespace mangrove::cluster
