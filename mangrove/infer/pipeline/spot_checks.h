#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "mangrove/base/random.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/net/endpoint.h"

namespace mangrove::infer {

struct SpotCheckOptions {
  double share = 0.02;     // of the micro-batches that are computed twice in a long run; others call it S
  double rounding = 0.01;  // the most of its answers that an honest device gives otherwise than other devices
  std::uint64_t seed = 0;  // of the draw; no node may know it
  bool judges = true;      // false: answers mean nothing, and all of them agree
};

/// The log-likelihood ratio by which a check speaks for a lying device: k of n answers differ from those of others.
///
///     honest  each answer differs with the probability p = `rounding`, whatever the others do: k ~ Binomial(n, p)
///     lying   with the probability q = 0.3 the micro-batch is a lie, in which any number of answers from 1 to n
///             differs with the same probability; else as honest
///
///     L(k) = (1 - q) + q [k > 0] / n / Binomial(k; n, p)
///
/// L is not monotone below the mode of the binomial distribution. There the least value stands in its place, for k > 0,
/// so that fewer differences never speak more for a lie. The logarithm is at most 9.5: no single check convicts.
/// n = 1: -0.36 for an equal answer, 3.4 for another one. n = 50: -0.36 for none, 0.17 for 3, 1.6 for 4, 9.5 from 7 on.
double evidence(std::int64_t k, std::int64_t n, double rounding);

/// Finds devices that answer wrongly. It draws the micro-batches whose work is done twice by different devices,
/// compares answers, decides which of them count, and judges each device by a sequential test.
///
/// opinions  The answers to a micro-batch by one way through the stages. If known answers of one rank are there (see
///           know()), they are an opinion that costs no work on every micro-batch in which that rank has no part. Of
///           the others, some micro-batches are sent a second way at the same time, which shares no device with the
///           first one. A device sees a micro-batch once, under the number that it would have anyway: a check
///           looks much like ordinary work (docs/trust.md says what gives it away).
/// disputes  Opinions agree if evidence() of their differences is not above 0. While no two opinions agree, one more
///           way is asked that shares no device with any before. Then the two are right, and the others count as wrong.
///           If nobody is left to be asked, or who is asked is silent or misses the deadline, the dispute is open, and
///           all who took part are suspected. Who misses the deadline has no opinion: the others decide.
/// test      Page's cumulative sum, of a sequential probability ratio test: W = max(0, W + evidence), for each device.
///           A device is a liar when W reaches h = log(1e8) = 18.4, counting only disputes that were decided and
///           opinions of a single device. By Ville's inequality a ratio that begins at a certain check ever reaches e^h
///           with a probability of at most e^-h, so an honest device is called a liar within m checks with a
///           probability of at most m e^-h: 0.001 for 100,000 checks. Known answers have a W of their own, beside that
///           of their rank.
/// unclear   If a way has several devices, a check cannot tell which of them lies. When W with all disputes counted
///           reaches h without a liar, the whole network has to go on each device: then each way has one device.
/// draw      The first min(10, 500 S) checks of a device come fast: a third of its micro-batches is drawn. Devices with
///           W > 0 have all of theirs checked, and a fifth of those of others is copied to them. Later the share is S;
///           S/2 while the device is ahead of S. The second way goes to devices with W > 0, then to those that were
///           asked for the fewest opinions, whether they gave them or not.
/// source    Wald, Sequential tests of statistical hypotheses, 1945; Page, Continuous inspection schemes, Biometrika
///           1954; Golle & Mironov, Uncheatable distributed computations, CT-RSA 2001 (checks that look like work).
/// No input or output; threads: one at a time.
class SpotChecks {
 public:
  using Way = std::vector<net::Rank>;                   // a holder for each stage
  using Holders = std::vector<std::vector<net::Rank>>;  // by stage

  explicit SpotChecks(const SpotCheckOptions& options);

  /// This rank has given these answers to all samples, before and alone. Micro-batch i has the samples from
  /// i * micro_batch on.
  void know(net::Rank by, std::vector<std::int32_t> answers, std::int64_t micro_batch);
  /// Whether each of these stages has another holder for a second way, or answers are known that are not its own. If
  /// not, nothing can be compared with what the stage does.
  bool can_compare(const Holders& holders) const;
  /// A plan begins. What is on its way is forgotten.
  void begin(Holders holders);

  /// The micro-batch is sent this way now. Returns the second way that it has to be sent, if it is drawn.
  std::optional<Way> send(std::uint64_t id, const Way& way);
  static constexpr std::size_t kFewest = 3;  // devices: of two that differ, nobody knows who is wrong

  struct Step {
    std::optional<Predictions> answer;  // to the micro-batch; it counts
    std::optional<Way> ask;             // one more way that it has to be sent
  };
  /// An answer that the rank has sent. Ignored if nobody asked for it: it has to come from the last rank of a way that
  /// the micro-batch was sent now, and its trace has to name that way. Any rank of a way may say that the deadline was
  /// missed.
  Step take(net::Rank from, Predictions predictions);
  /// What is still to come has not come in time. The step has an answer if there is one. Else the micro-batch is
  /// forgotten. Opinions that are there and differ are an open dispute.
  Step overdue(std::uint64_t id);

  std::optional<net::Rank> liar() const;
  /// Whether somebody on ways of several devices lies, and nobody can say who.
  bool is_unclear() const;
  /// The rank is believed no more. Nobody else is suspected any more, and known answers of the rank are forgotten.
  /// Returns the micro-batches that have an answer in which it had a part and that no other device has confirmed: the
  /// last kMostRemembered of them.
  std::vector<std::uint64_t> quarantine(net::Rank rank);
  static constexpr std::size_t kMostRemembered = 100'000;

  struct Counts {
    std::int64_t checks = 0;  // micro-batches with more than one opinion
    std::int64_t copies = 0;  // micro-batches that were sent one more time
    std::int64_t disputes = 0, open = 0;
  };
  struct Record {
    net::Rank rank = 0;
    std::int64_t checks = 0;  // opinions in which it had a part, beside another one
    std::int64_t wrong = 0;   // of these, disputed and not right
    bool is_quarantined = false;
  };
  /// Of each device that had work, known answers included.
  std::vector<Record> records() const;
  Record record(net::Rank rank) const;
  const Counts& counts() const { return counts_; }

 private:
  struct Device {
    std::int64_t micro_batches = 0;  // that were sent to it first
    std::int64_t asked = 0;          // opinions that were to be compared, given or not
    std::int64_t checks = 0, wrong = 0;
    bool is_quarantined = false;
    double suspicion = 0, proof = 0;          // W with all disputes, and with those that convict
    std::deque<std::uint64_t> unconfirmed{};  // micro-batches with answers in which it had a part
  };
  struct Opinion {
    Way way;                                 // empty: it is a known answer
    Way devices;                             // each once
    std::optional<Predictions> predictions;  // nothing: still to come
    bool is_known() const { return way.empty(); }
    bool may_come(net::Rank from, const Predictions& said) const;
  };
  using Opinions = std::vector<Opinion>;
  using Open = std::map<std::uint64_t, Opinions>::iterator;

  void count_asked(const Way& devices);
  bool are_known_for(const Way& devices) const;
  double share_of(const Way& devices) const;
  std::optional<Way> ask_one_more(Opinions& opinions);
  void add_known(std::uint64_t id, Opinions& opinions);
  double difference(const Opinion& a, const Opinion& b) const;
  std::optional<std::pair<std::size_t, std::size_t>> agreeing(const Opinions& opinions) const;
  Step conclude(Open open, bool may_ask);
  Step decide(Open open, bool may_ask);
  Step leave_open(Open open);
  void judge(const Opinion& opinion, double evidence, bool is_decided);
  Step give(Open open, std::size_t opinion, bool is_confirmed);

  const SpotCheckOptions options_;
  const std::int64_t first_checks_;
  Random random_;
  Holders holders_;
  std::size_t ranks_ = 0;                   // with stages
  std::map<std::uint64_t, Opinions> open_;  // by micro-batch: on their way
  std::map<net::Rank, Device> devices_;
  std::optional<net::Rank> known_by_;
  std::optional<net::Rank> author_rank_;  // who has given known answers, believed or not
  std::vector<std::int32_t> known_;
  std::size_t micro_batch_ = 1;
  Device author_;
  Counts counts_;
};

}  // namespace mangrove::infer
