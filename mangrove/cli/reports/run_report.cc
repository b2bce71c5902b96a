#include "mangrove/cli/reports/run_report.h"

#include <nlohmann/json.hpp>

#include "mangrove/cli/reports/json_lines.h"
#include "mangrove/cli/reports/plan_page.h"
#include "mangrove/cli/reports/report_page.h"
#include "mangrove/cli/reports/run_record.h"
#include "mangrove/cli/reports/world_picture.h"
#include "mangrove/sim/world.h"

namespace mangrove::cli {

using nlohmann::json;

Result<std::string> report_of_folder(const fs::path& folder) {
  MG_TRY(const RunRecord run, load_run(folder));
  return report_page(run);
}

Result<std::string> report_of_file(const fs::path& file) {
  if (file.extension() == ".yaml" || file.extension() == ".yml") {
    MG_TRY(const sim::World world, sim::load_world(file));
    return world_page(file.stem().string(), world);
  }
  MG_TRY(json object, read_json_object(file));
  if (const auto plan = job::read_json<PlanReport>(object); plan.ok()) return plan_page(*plan);
  if (const auto plan = job::read_json<TilePlanReport>(object); plan.ok()) return plan_page(*plan);
  RunRecord run;
  run.results = results_of(std::move(object));
  run.title = title_of(run.results);
  if (run.title.empty())
    return make_error(Code::data_loss, file.string() +
                                           ": neither a plan (`mangrove plan --json`), nor the result of "
                                           "a job (`mangrove train --json`)");
  return report_page(run);
}

Status write_report(RunFolder& folder) {
  std::error_code unreadable;
  if (!fs::exists(folder.path() / "metrics.jsonl", unreadable)) return {};
  MG_TRY(const std::string page, report_of_folder(folder.path()));
  return folder.write("report.html", page);
}

}  // namespace mangrove::cli
