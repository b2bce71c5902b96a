#include "mangrove/cli/run_result.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <tuple>

#include "mangrove/base/json_dump.h"
#include "mangrove/cli/reports/run_facts.h"
#include "mangrove/cli/reports/run_report.h"

namespace mangrove::cli {

Status leave_result(nlohmann::json result, const std::string& table, RunFolder& folder, CommandContext& context) {
  std::ignore = folder.write("summary.json", dump(result, 2) + "\n");
  std::ignore = folder.noted("report.html", write_report(folder));
  RunFacts facts;
  if (!folder.unsaved().empty()) facts.not_written = folder.unsaved();
  facts.add_to(result);
  MG_RETURN_IF_ERROR(print_result(result, table + "run folder: " + folder.path().string() + "\n", context.output));
  for (const auto& [name, why] : folder.unsaved())
    std::fprintf(stderr, "mangrove: %s is not in the run folder: %s\n", name.c_str(), why.c_str());
  if (!folder.unsaved().empty()) context.failed = true;
  return {};
}

}  // namespace mangrove::cli
