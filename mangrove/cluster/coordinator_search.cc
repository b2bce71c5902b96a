#include "mangrove/cluster/coordinator_search.h"

#include <algorithm>
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
constexpr std::size_t kMostAddresses = 32;

/// Checks that a server that shows these certificates is the coordinator of a cluster with one of these authorities.
Status check_coordinator(const std::vector<Certificate>& shown, const std::vector<std::string>& authority_hashes) {
  const auto authority = std::ranges::find_if(shown, [&](const Certificate& one) {
    return one.is_authority() && std::ranges::find(authority_hashes, one.hash()) != authority_hashes.end();
  });
  if (authority == shown.end()) return make_error(Code::permission_denied, "it is of another cluster");
  MG_RETURN_IF_ERROR(check_chain(shown, {*authority}, identity::wall_now()));
  MG_TRY(const identity::Subject subject, shown.front().subject());
  if (subject.role == identity::Role::coordinator) return {};
  return make_error(Code::permission_denied, std::string("it is a ") + role_name(subject.role));
}

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
    const auto shown = identity::peek_certificates(address, deadline_, stop);
    if (!shown.ok()) return;  // nobody answers
    const Status is_right = *shown ? check_coordinator(**shown, authority_hashes_)
                                   : Status(make_error(Code::permission_denied, "it has no certificate"));
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

std::string found_message(const std::string& address, const std::string& found) {
  const std::string before = address.empty() ? "" : "nothing answers at " + address + "; ";
  return before + "found the coordinator of this cluster at " + found;
}

}  // namespace

std::vector<std::string> hashes_of(const std::vector<Certificate>& authorities) {
  std::vector<std::string> hashes(authorities.size());
  std::ranges::transform(authorities, hashes.begin(), &Certificate::hash);
  return hashes;
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
  const auto half_of_rest = [&] { return std::max(deadline - clock.now(), 0.0) / 2; };
  for (Seconds patience = kCallFirstFor;; patience = kCallFor) {
    const Deadline first = clock.after(std::min(patience, half_of_rest()));
    Status called =
        address.empty()
            ? Status(make_error(Code::unavailable, "the join string has no address, and --coordinator gives none"))
            : call(address, first);
    if (called.ok() || called.code() != Code::unavailable || stop.stop_requested()) return called;
    const Result<std::string> found =
        search_coordinator(authority_hashes, std::min(deadline, clock.after(kSearchFor)), stop);
    if (found.ok()) {
      log_warn(found_message(address, *found));
      Status there = call(*found, std::min(deadline, clock.after(kCallFor)));
      if (there.ok() || there.code() != Code::unavailable || clock.now() >= deadline) return there;
      continue;
    }
    if (found.code() == Code::failed_precondition && !address.empty()) {
      Status last = call(address, deadline);
      if (last.ok() || last.code() != Code::unavailable) return last;
      return make_error(last.code(), last.error().message + "; " + found.error().message);
    }
    if (found.code() != Code::unavailable || clock.now() >= deadline)
      return make_error(found.code(), called.error().message + "; " + found.error().message);
    if (address.empty()) wait_for_stop(stop, std::min(kCallFor, half_of_rest()));
  }
}

}  // namespace mangrove::cluster
