#include "mangrove/train/events.h"

#include <gtest/gtest.h>

namespace mangrove::train {
namespace {

TEST(TrainingEvents, SayWhatHappenedInOneSentence) {
  EXPECT_EQ((WorkReassigned{"pi-3", "lost", 1500, 40}.sentence()),
            "1,500 samples of pi-3 go to the others at step 40: lost");
  EXPECT_EQ((WorkerLeftOut{"pi-3", "no room"}.sentence()), "pi-3 will get no work: no room");
  EXPECT_EQ(WorkerBack{"pi-3"}.sentence(), "pi-3 takes part again");
  EXPECT_EQ((StoppedEarly{9, 4, 0.976}.sentence()),
            "stopped after epoch 9: no better validation since epoch 4 (97.60 %)");
  EXPECT_EQ((MemoryPlanned{"pi-1", 16, 4, 0.25, 105'084'768, 0}.sentence()),
            "pi-1 trains in 4 micro-batches of 16 samples to stay within 105 MB, recomputing 25 % of its activations");
  EXPECT_EQ((MemoryPlanned{"pi-1", 64, 1, 0, 105'084'768, 0}.sentence()), "") << "as without a limit";
  EXPECT_EQ((Balanced{40, {{"a", 40}, {"b", 24}}}.sentence()),
            "from step 40 on samples are shared by speed: a 40, b 24");
  EXPECT_EQ((CodecChosen{"a", "topk(0.01)", 1, 2, 3, "it is faster"}.sentence()),
            "a sends with codec topk(0.01): it is faster");
  EXPECT_EQ((ShardRefused{"a", "b", "s1", "silent"}.sentence()), "b could not get a shard from a: silent");
  EXPECT_EQ((DataIsThere{"a", 1, 3}.sentence()),
            "a has its training data (1 shard from the coordinator, 3 from other nodes)");
  PrivacyPlanned planned{.protects = "samples",
                         .epsilon = 2,
                         .delta = 1e-5,
                         .clip = 1.5,
                         .noise = 1.1,
                         .rate = 0.01,
                         .steps = 1500,
                         .enough_for = 1500};
  EXPECT_EQ(planned.sentence(), "private samples: noise of 1.10 times 1.50 in each step, in which each is with 1.00 %");
  planned.enough_for = 200;
  EXPECT_EQ(
      planned.sentence(),
      "private samples: noise of 1.10 times 1.50 in each step, in which each is with 1.00 %; epsilon 2.00 is enough "
      "for 200 of 1,500 steps");
  planned.noise_is_of_seed = true;
  EXPECT_TRUE(planned.sentence().ends_with("; noise of the seed protects from nobody who knows it"));
  EXPECT_EQ((BudgetSpent{1.998, 1e-5, 200, 1500}.sentence()),
            "stopped after step 200 of 1,500: the next would cost more than the privacy budget has (epsilon 2.00 is "
            "spent)");
  EXPECT_EQ((ResumedWithOtherWorkers{128, 96}.sentence()),
            "resumed with 96 samples a step, not 128 as before: right, but not bit for bit the same");
  EXPECT_EQ((Recut{3, 1200, 1.5}.sentence()),
            "from step 1,200 on the network is cut into 3 stages, expected to be 1.50x as fast");
  EXPECT_EQ((Recut{2, 5}.sentence()), "from step 5 on the network is cut into 2 stages");
}

TEST(Advice, SaysWhatWouldBeFaster) {
  Advice advice{.boards = 1, .speedup = 0.5, .compute = 0.012, .exchange = 0.07, .local_steps = {}, .why = ""};
  EXPECT_EQ(advice.sentence(), "one board would train 2.0x as fast as all (a step computes 12 ms, exchanges 70 ms)");
  EXPECT_EQ(AdviceGiven{advice}.sentence(), "advice: " + advice.sentence());
  advice.local_steps = 20;
  EXPECT_NE(advice.sentence().find("; try --strategy federated --local-steps 20"), std::string::npos);
  advice.boards = 10;
  advice.speedup = 1.4;
  EXPECT_NE(advice.sentence().find("10 boards train only 1.4x as fast as one"), std::string::npos);
  advice.local_steps.reset();
  EXPECT_EQ(AdviceGiven{advice}.sentence(), "") << "nothing can be better";
}

}  // namespace
}  // namespace mangrove::train
