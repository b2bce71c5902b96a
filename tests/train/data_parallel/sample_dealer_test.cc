#include "mangrove/train/data_parallel/sample_dealer.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/train/training_job.h"

namespace mangrove::train {
namespace {

Hello data_of(std::int64_t samples) {
  Hello data;
  data.set_train_samples(samples);
  for (std::int64_t i = 0; i < samples; ++i) data.add_labels(static_cast<std::int32_t>(i % 2));
  return data;
}

std::set<std::uint32_t> samples_of(const SampleDealer::Deal& deal) {
  std::set<std::uint32_t> all;
  for (const auto& [rank, dealt] : deal.works) all.insert(dealt.samples.begin(), dealt.samples.end());
  return all;
}

TEST(SampleDealer, DealsOutEverySampleOfAnEpochOnceAndSaysWhatComesNext) {
  const TrainJob job = small_job(20);
  SampleDealer dealer(job);
  ASSERT_TRUE(dealer.open(data_of(20), 2).ok());
  dealer.begin_epoch(0);
  const auto first = dealer.deal({{1, 0}, {2, 0}}, 8, 1);
  EXPECT_FALSE(first.changed_shares);
  EXPECT_EQ(first.works.at(1).samples.size(), 8u);
  EXPECT_FALSE(first.works.at(1).next_is_of_epoch_to_come);
  for (const net::Rank rank : {1, 2}) dealer.ledger().finish(rank);
  const auto second = dealer.deal({{1, 0}, {2, 0}}, 8, 1);
  for (const net::Rank rank : {1, 2}) {
    EXPECT_EQ(second.works.at(rank).samples, first.works.at(rank).next);
    EXPECT_TRUE(second.works.at(rank).next_is_of_epoch_to_come);
    dealer.ledger().finish(rank);
  }
  EXPECT_TRUE(dealer.ledger().done());
  std::set<std::uint32_t> all = samples_of(first);
  all.merge(samples_of(second));
  EXPECT_EQ(all.size(), 20u);
  dealer.begin_epoch(1);
  const auto next_epoch = dealer.deal({{1, 0}, {2, 0}}, 8, std::nullopt);
  EXPECT_EQ(next_epoch.works.at(1).samples, second.works.at(1).next);
}

TEST(SampleDealer, AfterTheLastEpochNothingComes) {
  const TrainJob job = small_job(8);
  SampleDealer dealer(job);
  ASSERT_TRUE(dealer.open(data_of(8), 1).ok());
  dealer.begin_epoch(0);
  EXPECT_TRUE(dealer.deal({{1, 0}}, 8, std::nullopt).works.at(1).next.empty());
}

TEST(SampleDealer, GoesByTheSpeedsOfWorkersWhereTheJobSaysSo) {
  TrainJob job = small_job(64);
  job.set_balance("speed");
  SampleDealer dealer(job);
  ASSERT_TRUE(dealer.open(data_of(64), 2).ok());
  dealer.begin_epoch(0);
  const auto deal = dealer.deal({{1, 10}, {2, 30}}, 8, std::nullopt);
  ASSERT_TRUE(deal.changed_shares);
  EXPECT_EQ(*deal.changed_shares, (Balance::Shares{{1, 4}, {2, 12}}));
  EXPECT_EQ(deal.works.at(2).samples.size(), 12u);
  EXPECT_FALSE(dealer.deal({{1, 10}, {2, 31}}, 8, std::nullopt).changed_shares) << "they are much the same";
}

TEST(SampleDealer, SamplesOfAWorkerThatIsNotThereAreForTheOthers) {
  TrainJob job = small_job(20);
  job.set_split("by_label(1)");
  SampleDealer dealer(job);
  ASSERT_TRUE(dealer.open(data_of(20), 2).ok());
  dealer.begin_epoch(0);
  EXPECT_EQ(dealer.deal({{1, 0}}, 100, std::nullopt).works.at(1).samples.size(), 10u) << "its own";
  EXPECT_FALSE(dealer.ledger().has_for(1));
  dealer.disown_all_but({1});
  EXPECT_TRUE(dealer.ledger().has_for(1));
  EXPECT_EQ(dealer.deal({{1, 0}}, 100, std::nullopt).works.at(1).samples.size(), 10u) << "those of the other";
}

TEST(SampleDealer, GoesOnWithWhatACheckpointHasLeft) {
  const TrainJob job = small_job(20);
  SampleDealer dealer(job);
  ASSERT_TRUE(dealer.open(data_of(20), 1).ok());
  dealer.resume({7, 3, 5});
  EXPECT_EQ(dealer.deal({{1, 0}}, 8, std::nullopt).works.at(1).samples, (SampleLedger::Samples{7, 3, 5}));
}

TEST(SampleDealer, NeedsLabelsWhereTheSplitGoesByThem) {
  TrainJob job = small_job(20);
  job.set_split("by_label(1)");
  Hello unlabelled;
  unlabelled.set_train_samples(20);
  EXPECT_EQ(SampleDealer(job).open(unlabelled, 2).code(), Code::data_loss);
}

}  // namespace
}  // namespace mangrove::train
