#include "mangrove/train/data_parallel/data_split.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>

#include "mangrove/base/call_syntax.h"
#include "mangrove/base/random.h"
#include "mangrove/data/loader.h"

namespace mangrove::train {
namespace {

constexpr std::uint64_t kShards = 0x5a4d;  // stream of random numbers
constexpr double kMostNumber = 1e6;        // of a number in a split
constexpr double kMostLabels = 10'000;     // classes of one worker: each is a piece of the samples

/// The numbers in "NAME(1,2.5)"; nothing for another text, or a number that is not above 0.
std::optional<std::vector<double>> numbers_in(const std::string& text, const std::string& name) {
  const std::optional<std::string_view> inside = argument_of(text, name);
  if (!inside) return std::nullopt;
  std::vector<double> numbers;
  const char* at = inside->data();
  const char* last = at + inside->size();
  while (true) {
    double number = 0;
    const auto [end, code] = std::from_chars(at, last, number);
    if (code != std::errc() || !(number > 0 && number <= kMostNumber)) return std::nullopt;
    numbers.push_back(number);
    if (end == last) return numbers;
    if (*end != ',') return std::nullopt;
    at = end + 1;
  }
}

/// source: Marsaglia & Tsang, A simple method for generating gamma variables, 2000
double gamma_variate(double shape, Random& random) {
  if (shape < 1) return gamma_variate(shape + 1, random) * std::pow(1 - random.uniform(), 1 / shape);
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = random.normal(), v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(1 - random.uniform()) < x * x / 2 + d - d * v + d * std::log(v)) return d * v;
  }
}

std::vector<double> dirichlet_variate(double alpha, std::size_t size, Random& random) {
  std::vector<double> shares(size);
  for (double& share : shares) share = gamma_variate(alpha, random);
  // for a low alpha, all may be too small to be told from 0; then one has everything, as it nearly has anyway
  if (std::accumulate(shares.begin(), shares.end(), 0.0) <= 0) shares[random.below(size)] = 1;
  return shares;
}

/// Contiguous parts of `samples` in these proportions, the i-th to worker i.
void deal(std::span<const std::uint32_t> samples, std::span<const double> proportions,
          std::vector<std::size_t>& owner) {
  const double total = std::accumulate(proportions.begin(), proportions.end(), 0.0);
  double sum = 0;
  std::size_t first = 0;
  for (std::size_t worker = 0; worker < proportions.size(); ++worker) {
    sum += proportions[worker];
    const bool is_last = worker + 1 == proportions.size();
    const auto end = is_last
                         ? samples.size()
                         : static_cast<std::size_t>(std::llround(static_cast<double>(samples.size()) * sum / total));
    for (; first < end; ++first) owner[samples[first]] = worker;
  }
}

/// All samples, in random order within each class.
std::vector<std::uint32_t> by_class(std::span<const std::int32_t> labels, Random& random) {
  std::vector<std::uint32_t> order = random.permutation(static_cast<std::uint32_t>(labels.size()));
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return labels[a] < labels[b]; });
  return order;
}

}  // namespace

Result<DataSplit> parse_split(const std::string& text) {
  using Kind = DataSplit::Kind;
  if (text.empty() || text == "iid") return DataSplit{};
  if (text == "shards") return DataSplit{.kind = Kind::shards};
  if (const auto alpha = numbers_in(text, "dirichlet"); alpha && alpha->size() == 1)
    return DataSplit{.kind = Kind::dirichlet, .alpha = alpha->front()};
  if (const auto labels = numbers_in(text, "by_label"); labels && labels->size() == 1) {
    const double whole = std::floor(labels->front());
    if (whole == labels->front() && whole <= kMostLabels)
      return DataSplit{.kind = Kind::by_label, .labels = static_cast<std::int64_t>(whole)};
  }
  if (const auto sizes = numbers_in(text, "by_size")) return DataSplit{.kind = Kind::by_size, .sizes = *sizes};
  return make_error(Code::invalid_argument,
                    "split: must be iid, shards, dirichlet(ALPHA), by_label(K) with a whole number up to 10000, or "
                    "by_size(A,B,...) with a number for each worker, all above 0, got '" +
                        text + "'");
}

Status check_workers(const DataSplit& split, const std::string& text, std::size_t workers) {
  if (split.kind != DataSplit::Kind::by_size || split.sizes.size() == workers) return {};
  return make_error(Code::invalid_argument, "split: " + text + " is for " + std::to_string(split.sizes.size()) +
                                                " nodes, got " + std::to_string(workers));
}

std::vector<std::size_t> owners(const DataSplit& split, std::span<const std::int32_t> labels, std::size_t workers,
                                std::uint64_t seed) {
  Random random = Random(seed).fork(kShards);
  std::vector<std::size_t> owner(labels.size());
  if (split.kind == DataSplit::Kind::by_size) {
    deal(random.permutation(static_cast<std::uint32_t>(labels.size())), split.sizes, owner);
    return owner;
  }
  const std::vector<std::uint32_t> order = by_class(labels, random);
  if (split.kind == DataSplit::Kind::by_label) {
    const auto pieces = static_cast<std::uint32_t>(workers * static_cast<std::size_t>(split.labels));
    const std::vector<std::uint32_t> dealt = random.permutation(pieces);
    for (std::uint32_t piece = 0; piece < pieces; ++piece) {
      const auto [first, last] = data::shard(static_cast<std::uint32_t>(order.size()), piece, pieces);
      for (std::uint32_t i = first; i < last; ++i) owner[order[i]] = dealt[piece] % workers;
    }
    return owner;
  }
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last < order.size() && labels[order[last]] == labels[order[first]]) ++last;
    deal(std::span(order).subspan(first, last - first), dirichlet_variate(split.alpha, workers, random), owner);
    first = last;
  }
  return owner;
}

std::vector<std::size_t> shard_owners(std::span<const std::uint32_t> run_ends, std::size_t workers) {
  std::vector<std::size_t> owner;
  std::vector<std::size_t> samples(workers);  // of each
  for (const std::uint32_t end : run_ends) {
    const auto worker = static_cast<std::size_t>(std::min_element(samples.begin(), samples.end()) - samples.begin());
    samples[worker] += end - owner.size();
    owner.resize(end, worker);
  }
  return owner;
}

}  // namespace mangrove::train
