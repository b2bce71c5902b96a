// docs/json.md against the descriptions of what is written: every key stands on the page, and no key of its tables is
// unknown.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/paths.h"

#include "mangrove/base/file.h"
#include "mangrove/cli/reports/eval_report.h"
#include "mangrove/cli/reports/exits_report.h"
#include "mangrove/cli/reports/place_report.h"
#include "mangrove/cli/reports/plan_report.h"
#include "mangrove/cli/reports/report_keeper.h"
#include "mangrove/cli/reports/run_facts.h"
#include "mangrove/cli/reports/server_inference_report.h"
#include "mangrove/cli/reports/tile_plan_report.h"
#include "mangrove/cluster/job_report.h"
#include "mangrove/cluster/node_event.h"
#include "mangrove/infer/ensemble/report.h"
#include "mangrove/infer/pipeline/report.h"
#include "mangrove/infer/tiers/report.h"
#include "mangrove/infer/tiles/report.h"
#include "mangrove/infer/views/report.h"
#include "mangrove/job/progress.h"
#include "mangrove/serve/update/model_update.h"
#include "mangrove/train/result.h"

namespace mangrove::cli {
namespace {

using Names = std::set<std::string>;

/// The words in backquotes that can be keys.
Names words_of(const std::string& text) {
  Names words;
  bool is_quoted = false;
  std::string word;
  for (const char c : text + "`") {
    if (is_quoted && (std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_')) {
      word += c;
      continue;
    }
    if (!word.empty()) words.insert(word);
    word.clear();
    if (c == '`') is_quoted = !is_quoted;
  }
  return words;
}

/// A heading of the page and what stands below it.
class Page {
 public:
  Page() {
    std::ifstream file(testing::repository_path("docs/json.md"));
    std::string heading;
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("## ")) heading = line.substr(3);
      sections_[heading].push_back(line);
    }
  }
  const std::vector<std::string>& section(const std::string& heading) const {
    const auto found = sections_.find(heading);
    EXPECT_NE(found, sections_.end()) << "no section '" << heading << "'";
    static const std::vector<std::string> kNone;
    return found == sections_.end() ? kNone : found->second;
  }
  Names words(const std::vector<std::string>& headings) const {
    Names all;
    for (const std::string& heading : headings)
      for (const std::string& line : section(heading)) all.merge(words_of(line));
    return all;
  }
  /// What the first column of the tables names.
  Names first_column(const std::string& heading) const {
    Names all;
    for (const std::string& line : section(heading))
      if (line.starts_with("| `")) all.merge(words_of(line.substr(0, line.find(" |", 2))));
    return all;
  }
  /// The row of a table with this in its first column; "": there is none.
  std::string row(const std::string& heading, const std::string& name) const {
    for (const std::string& line : section(heading))
      if (line.starts_with("| `") && words_of(line.substr(0, line.find(" |", 2))).contains(name)) return line;
    return "";
  }

 private:
  std::map<std::string, std::vector<std::string>> sections_;
};

const char* const kTrain = "`mangrove train --json`";
const char* const kInfer = "`mangrove infer --json`";
const char* const kInferUrl = "`mangrove infer --url URL --json`";
const char* const kService = "`mangrove service --json`";
const char* const kPlan = "`mangrove plan --json`";
const char* const kTiles = "`mangrove plan --tiles --json`";
const char* const kPlace = "`mangrove place --json`";
const char* const kEval = "`mangrove eval --json`";
const char* const kSim = "`mangrove sim WORLD JOB --json`";
const char* const kNodes = "`nodes` of a job";
const char* const kEvents = "`events` of a job";
const char* const kMetrics = "`metrics.jsonl`";

template <class... T>
Names names_of() {
  Names all;
  const auto add = [&](const std::vector<std::string>& names) { all.insert(names.begin(), names.end()); };
  (add(job::field_names<T>()), ...);
  return all;
}

/// Those of the first that are not among the second.
Names missing(const Names& wanted, const Names& found) {
  Names left;
  std::ranges::set_difference(wanted, found, std::inserter(left, left.end()));
  return left;
}

TEST(JsonPage, NamesEveryKeyOfResults) {
  const Page page;
  EXPECT_EQ(missing(names_of<train::TrainResult, cluster::JobCurve>(), page.words({kTrain, kSim})), Names());
  EXPECT_EQ(missing(names_of<RunFacts>(), page.words({kTrain, kInfer, kSim, kNodes, kEvents})), Names());
  EXPECT_EQ(missing(names_of<infer::InferResult, infer::SingleResult, infer::PipelineResult, infer::EnsembleResult,
                             infer::TiersResult, infer::ViewsResult, infer::TilesResult, infer::FrameAnswer>(),
                    page.words({kInfer, kSim})),
            Names());
  EXPECT_EQ(missing(names_of<EvalReport, ExitsReport>(), page.words({kEval})), Names());
  EXPECT_EQ(missing(names_of<ServerInferenceReport>(), page.words({kInferUrl})), Names());
  EXPECT_EQ(missing(names_of<serve::ServiceStatus>(), page.words({kService})), Names());
  EXPECT_EQ(missing(names_of<PlanReport>(), page.words({kPlan})), Names());
  EXPECT_EQ(missing(names_of<PlaceReport>(), page.words({kPlace})), Names());
  EXPECT_EQ(missing(names_of<TilePlanReport>(), page.words({kPlan, kTiles})), Names());
  EXPECT_EQ(missing(names_of<cluster::NodeUsage>(), page.words({kNodes})), Names());
}

TEST(JsonPage, HasNoKeyOfResultsThatIsUnknown) {
  const Page page;
  EXPECT_EQ(missing(page.first_column(kTrain), names_of<train::TrainResult, cluster::JobCurve, RunFacts>()), Names());
  EXPECT_EQ(missing(page.first_column(kInfer), names_of<infer::InferResult, infer::PipelineResult, infer::TiersResult,
                                                        infer::ViewsResult, infer::TilesResult, RunFacts>()),
            Names());
  EXPECT_EQ(missing(page.first_column(kPlan), names_of<PlanReport>()), Names());
  EXPECT_EQ(missing(page.first_column(kTiles), names_of<TilePlanReport>()), Names());
  EXPECT_EQ(missing(page.first_column(kEval), names_of<ExitsReport>()), Names());
  EXPECT_EQ(missing(page.first_column(kInferUrl), names_of<ServerInferenceReport>()), Names());
  EXPECT_EQ(missing(page.first_column(kService), names_of<serve::ServiceStatus>()), Names());
}

TEST(JsonPage, NamesEveryKeyOfMetrics) {
  const Page page;
  const auto check = [&](const std::string& name, const Names& keys, const std::vector<std::string>& headings) {
    EXPECT_EQ(missing(keys, page.words(headings)), Names()) << name;
  };
  check("progress", names_of<job::Progress>(), {kMetrics});
  check("epoch", names_of<train::EpochReport>(), {kMetrics});
  check(cluster::SampleLine::kLine, names_of<cluster::SampleLine>(), {kMetrics});
  check(infer::StageLoad::kLine, names_of<infer::StageLoad>(), {kMetrics});
  check(infer::TierAnswersLine::kLine, names_of<infer::TierAnswersLine>(), {kInfer});
  check(infer::ViewAnswersLine::kLine, names_of<infer::ViewAnswersLine>(), {kInfer});
  for (const char* name : {report_kind_name(ReportKind::progress), report_kind_name(ReportKind::epoch),
                           report_kind_name(ReportKind::event), cluster::SampleLine::kLine, infer::StageLoad::kLine})
    EXPECT_NE(page.row(kMetrics, name), "") << name;
}

/// The names of all events, as the sources declare them.
Names declared_events() {
  Names events;
  for (const auto& entry : fs::recursive_directory_iterator(testing::repository_path("mangrove"))) {
    if (entry.path().extension() != ".h" || entry.path().filename() == "event.h") continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);)
      for (const std::string before : {"kEvent = \"", "inline constexpr NodeEventKind "}) {
        const std::size_t at = line.find(before), begin = line.find('"', at) + 1;
        if (at != std::string::npos && begin != 0) events.insert(line.substr(begin, line.find('"', begin) - begin));
      }
  }
  events.insert(job::StageMoved::kEvent);  // of event.h, which explains events by an example
  return events;
}

TEST(JsonPage, NamesEveryEvent) {
  const Page page;
  const Names declared = declared_events(), listed = page.first_column(kEvents);
  EXPECT_GT(declared.size(), 20u);
  EXPECT_EQ(missing(declared, listed), Names()) << "not on the page";
  EXPECT_EQ(missing(listed, declared), Names()) << "nobody sends it";
}

template <class... E>
void check_events(const Page& page) {
  const Names common = names_of<job::EventHead, cluster::NodeEvent>();
  const auto check = [&](const char* name, const std::vector<std::string>& keys) {
    Names known = words_of(page.row(kEvents, name));
    known.insert(common.begin(), common.end());
    known.insert("reason");
    EXPECT_EQ(missing({keys.begin(), keys.end()}, known), Names()) << name;
  };
  (check(E::kEvent, job::field_names<E>()), ...);
}

TEST(JsonPage, NamesEveryKeyOfEvents) {
  const Page page;
  EXPECT_EQ(missing(names_of<job::EventHead, cluster::NodeEvent>(), page.words({kEvents})), Names());
  check_events<train::WorkReassigned, train::WorkerLeftOut, train::WorkerBack, train::MemoryPlanned, train::Balanced,
               train::LayersDivided, train::CodecChosen, train::ShardRefused, train::DataIsThere,
               train::SecureSumFailed, train::SamplesUnlearnt, train::PrivacyPlanned, train::BudgetSpent,
               train::StoppedEarly, train::ResumedWithOtherWorkers, train::Recut, infer::NodeLeftOut, infer::Redone,
               infer::Replanned, infer::Quarantined, infer::Isolated, infer::SchedulerSwitched, infer::ViewLost,
               job::StageMoved, cluster::WaitingForNodes, cluster::Queued, cluster::TooFewNodes, NotWritten>(page);
}

}  // namespace
}  // namespace mangrove::cli
