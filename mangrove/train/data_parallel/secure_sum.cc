#include "mangrove/train/data_parallel/secure_sum.h"

#include <algorithm>
#include <utility>

#include "mangrove/base/check.h"
#include "mangrove/train/events.h"

namespace mangrove::train {
namespace {

secure::ClientId client_of(net::Rank rank) {
  return static_cast<secure::ClientId>(rank);
}

bool has(const net::RankSet& ranks, net::Rank rank) {
  return std::ranges::binary_search(ranks, rank);
}

std::int64_t samples_of(std::span<const SecureSum::Term> terms) {
  std::int64_t samples = 0;
  for (const SecureSum::Term& term : terms) samples += term.samples;
  return samples;
}

}  // namespace

Result<std::optional<SecureSum::Outcome>> SecureSum::sum(std::span<const Term> terms, std::int64_t step,
                                                         const NextAnswer& next, const TakeOther& other) {
  const struct Ends {
    std::optional<secure::Server>& server;
    ~Ends() { server.reset(); }
  } ends{server_};
  step_ = step;
  std::vector<secure::ClientId> clients;
  for (const Term& term : terms) clients.push_back(client_of(term.rank));
  MG_TRY(server_, secure::Server::create(++rounds_, layout_.words(), clients, secure::system_random()));
  while (true) {
    const auto orders = server_->next();
    leave_out_liars();
    if (!orders.ok()) {
      reports_.event(SecureSumFailed{step, orders.error().message});
      failures_ = server_->liars().empty() ? failures_ + 1 : 0;
      return std::optional<Outcome>();
    }
    if (orders->empty()) break;
    give(terms, *orders);
    while (server_->is_waiting()) {
      MG_TRY(std::optional<WorkerRoster::Answered> answered, next());
      if (answered && server_->waits_for(client_of(answered->rank))) {
        server_->take(client_of(answered->rank), answered->body());
      } else if (answered) {
        other(std::move(*answered));
      }
    }
  }
  failures_ = 0;
  Outcome outcome;
  std::int64_t samples = 0;
  for (const Term& term : terms) {
    if (!server_->has_vector_of(client_of(term.rank))) continue;
    outcome.ranks.push_back(term.rank);
    samples += term.samples;
  }
  outcome.total = layout_.decode(server_->sum().words, samples_of(terms), samples, step);
  return std::optional(std::move(outcome));
}

void SecureSum::give(std::span<const Term> terms, const std::map<secure::ClientId, std::string>& orders) {
  const net::RankSet ready = workers_.ready();
  const auto all = static_cast<double>(samples_of(terms));
  for (const Term& term : terms) {
    const auto order = orders.find(client_of(term.rank));
    if (order == orders.end()) continue;
    if (!has(ready, term.rank)) {
      server_->lose(client_of(term.rank));
      continue;
    }
    Work work;
    work.set_kind(Work::SUM);
    work.set_version(step_);
    work.mutable_weights()->set_share(static_cast<double>(term.samples) / all);
    work.mutable_weights()->set_discount(term.discount);
    workers_.give(term.rank, work, order->second, server_->asks_for_vectors() ? layout_.floats() : 0, true);
  }
}

void SecureSum::lose(net::Rank rank) {
  if (server_ && server_->waits_for(client_of(rank))) server_->lose(client_of(rank));
}

void SecureSum::leave_out_liars() {
  for (const auto& [client, deed] : server_->liars()) {
    const auto rank = static_cast<net::Rank>(client);
    if (has(workers_.in_use(), rank)) workers_.leave_out(rank, make_error(Code::invalid_argument, "it " + deed));
  }
}

}  // namespace mangrove::train
