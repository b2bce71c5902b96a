#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "mangrove/base/units.h"
#include "mangrove/exits/early_exit.h"
#include "mangrove/infer/result.h"
#include "mangrove/infer/views/report.h"

namespace mangrove::infer {

/// The rank of the node with this view, which counts from 0. For the number of views, it is the first rank without a
/// view.
inline net::Rank rank_of_view(std::size_t view) {
  return static_cast<net::Rank>(view) + 1;
}

/// The answers of a job of strategy "views", image by image, and what they cost.
/// threads: one at a time.
class ViewAnswers {
 public:
  /// data: the nodes' description of the data. job and data must outlive this object.
  ViewAnswers(const InferJob& job, const Hello& data, std::size_t views, std::size_t exits);

  /// Labels of images, by the view whose device sent them.
  using Truths = std::map<std::size_t, std::vector<std::int32_t>>;
  /// Sets the labels of the images from `begin` on, before their answers are added. The label of most views counts; if
  /// there is a tie, that of the first of them. Returns the views with another label. REQUIRES: at least one view has
  /// labels.
  std::set<std::size_t> set_truths(std::int64_t begin, const Truths& truths);
  /// Adds answers. lost: the views, counted from 0, that the network was without. Returns the line for the stream of
  /// answers, without its time.
  ViewAnswersLine add(std::span<const std::int64_t> images, std::span<const exits::EarlyExit::Answer> answers,
                      const std::set<std::size_t>& lost);

  /// This number of bytes has come from the device of a view.
  void received(std::size_t view, bool are_scores, Bytes bytes) {
    (are_scores ? views_[view].scores : views_[view].features) += bytes;
  }
  /// A rank has classified this number of images of a micro-batch that did not leave at the first exit. Rank 0 is the
  /// leader.
  void classified(net::Rank by, std::int64_t images);
  /// A micro-batch has all its answers. lost: the views that the last of them were computed without.
  void close(const std::set<std::size_t>& lost);

  std::int64_t answered() const { return answered_; }
  bool done() const { return answered_ == std::ssize(truths_); }
  /// The result: the figures that all strategies report, whether every image was answered once, where images left, the
  /// bytes that went up, and the work of each rank. lost: views.
  ViewsResult summary(Seconds seconds, const std::set<std::size_t>& lost, const Reports& reports) const;

 private:
  struct OfExit {
    std::int64_t images = 0, right = 0;
  };
  struct OfView {
    std::int64_t batches_without = 0;
    Bytes scores = 0, features = 0;
  };
  struct OfUpper {
    std::int64_t batches = 0, images = 0;
  };
  std::vector<ExitReport> exits() const;
  void add_traffic(ViewsResult& result) const;

  const InferJob& job_;
  const Hello& data_;
  std::vector<std::int32_t> truths_, predictions_;  // -1: none yet
  std::vector<OfView> views_;
  std::vector<OfExit> exits_;
  std::map<net::Rank, OfUpper> uppers_;
  std::int64_t answered_ = 0, duplicated_ = 0, batches_ = 0;
};

}  // namespace mangrove::infer
