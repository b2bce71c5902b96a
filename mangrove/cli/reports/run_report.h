#pragma once

#include <string>

#include "mangrove/base/file.h"
#include "mangrove/base/result.h"
#include "mangrove/cli/run_folder.h"

namespace mangrove::cli {

/// A run folder as one page, also while the run goes on. errors: those of load_run.
Result<std::string> report_of_folder(const fs::path& folder);

/// A file as one page: the JSON of `mangrove plan`, or of a job (`--json`), or a world file, whose name ends in .yaml.
/// errors: those of reading; data_loss (JSON of something else; names the file).
Result<std::string> report_of_file(const fs::path& file);

/// report.html of the run, unless it has no metrics: it ran no job.
Status write_report(RunFolder& folder);

}  // namespace mangrove::cli
