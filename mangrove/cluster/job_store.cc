#include "mangrove/cluster/job_store.h"

#include <array>
#include <cctype>
#include <fstream>

#include "mangrove/base/log.h"
#include "mangrove/base/printable.h"
#include "mangrove/cluster/cluster_status.h"
#include "mangrove/cluster/wire_status.h"
#include "mangrove/job/json_fields.h"
#include "mangrove/train/result.h"

namespace mangrove::cluster {
namespace {

constexpr std::int64_t kTablesVersion = 3;  // of the tables; 1 had neither owners nor attempts, 2 had no epochs
constexpr std::size_t kEndedKept = 64;
constexpr std::size_t kLongestTitle = 200;                       // bytes
constexpr std::int64_t kMostStarts = 5;                          // of a job without a checkpoint
constexpr std::int64_t kMostDeaths = 2;                          // of the coordinator since the job's last checkpoint
constexpr std::uintmax_t kModelsKept = std::uintmax_t{1} << 30;  // bytes, of jobs that have ended
constexpr std::array kEndStates = {"done", "failed", "stopped"};

const char* const kJobs =
    "CREATE TABLE jobs ("
    "number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL, "
    "request BLOB, "                                          // until it has ended
    "title TEXT NOT NULL, "                                   // for people
    "state TEXT NOT NULL, "                                   // running, done, failed, stopped
    "starts INTEGER NOT NULL, epoch INTEGER, step INTEGER, "  // of the last checkpoint
    "code INTEGER, message TEXT, result TEXT, "
    "began TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, ended TEXT, "
    "owner TEXT NOT NULL DEFAULT '')";  // the last column: version 1 gets it behind all others
const char* const kMembers =
    "CREATE TABLE members (job TEXT NOT NULL, rank INTEGER NOT NULL, node TEXT NOT NULL, alive INTEGER NOT NULL, "
    "PRIMARY KEY (job, rank))";
// Has a row for a job while it runs. boot: the machine's boot id when the job was last started; "": the coordinator has
// ended in good order since.
const char* const kAttempts =
    "CREATE TABLE attempts (job TEXT PRIMARY KEY, boot TEXT NOT NULL, deaths INTEGER NOT NULL)";
// Of jobs that run: the results of those that have ended have their epochs.
const char* const kEpochs =
    "CREATE TABLE epochs (job TEXT NOT NULL, epoch INTEGER NOT NULL, report TEXT NOT NULL, PRIMARY KEY (job, epoch))";

/// The boot id: another one after each start of the machine. "": the system does not tell it.
std::string this_boot() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot;
}

std::string state_of(const Status& ended) {
  if (ended.ok()) return "done";
  return ended.code() == Code::cancelled ? "stopped" : "failed";
}

/// The columns that take_up() reads.
const char* const kUnended =
    "SELECT id, request, starts, (SELECT count(*) FROM members WHERE job = id AND alive), owner, "
    "(SELECT count(*) FROM members WHERE job = id) FROM jobs WHERE state = 'running'";

/// A service says in `data` what it is called.
std::string title_of_inference(const infer::InferJob& job) {
  const bool is_service = job.frame_values() && !job.data().empty();
  const std::string what = is_service     ? kServiceTitle + job.data()
                           : job.frames() ? "infer frames of its client"
                                          : "infer " + job.data();
  return what + ", " + job.strategy();
}

}  // namespace

std::string title_of(const JobSpec& job) {
  std::string title =
      job.has_train() ? "train " + job.train().data() + ", " + job.train().strategy() : title_of_inference(job.infer());
  title = cut_short(std::move(title), kLongestTitle);
  for (char& c : title)
    if (std::iscntrl(static_cast<unsigned char>(c)) != 0) c = '?';
  return title;
}

Result<std::unique_ptr<JobStore>> JobStore::open(const fs::path& folder) {
  MG_RETURN_IF_ERROR(make_writable_folder(folder).context("state"));
  MG_TRY(Database database, Database::open(folder / "coordinator.db").context("state"));
  std::unique_ptr<JobStore> store(new JobStore(folder, std::move(database)));
  MutexLock lock(store->mutex_);
  MG_RETURN_IF_ERROR(store->prepare().context("state"));
  for (const Status& tidied : {store->settle_unwritten(), store->forget_old()})
    if (!tidied.ok()) log_error("jobs of the state folder not put in order", {{"message", tidied.error().message}});
  return store;
}

Status JobStore::prepare() {
  MG_TRY(const auto found, database_.run("PRAGMA user_version"));
  const std::int64_t version = integer(found.at(0), 0);
  if (version == kTablesVersion) return {};
  std::vector<std::string> changes;
  if (version == 1) changes = {"ALTER TABLE jobs ADD COLUMN owner TEXT NOT NULL DEFAULT ''", kAttempts};
  if (version == 1 || version == 2) {
    changes.emplace_back(kEpochs);
    return change_tables(changes);
  }
  MG_TRY(const auto tables, database_.run("SELECT count(*) FROM sqlite_master"));
  if (version != 0 || integer(tables.at(0), 0) != 0)
    return make_error(Code::unimplemented, (folder_ / "coordinator.db").string() + ": its tables are of version " +
                                               std::to_string(version) + ", this program has version " +
                                               std::to_string(kTablesVersion) +
                                               "; use the program that wrote it, or another folder");
  return change_tables({kJobs, kMembers, kAttempts, kEpochs});
}

/// They are of this program's version then.
Status JobStore::change_tables(const std::vector<std::string>& changes) {
  return database_.together([&]() MG_REQUIRES(mutex_) -> Status {
    for (const std::string& sql : changes) MG_RETURN_IF_ERROR(database_.run(sql));
    MG_RETURN_IF_ERROR(database_.run("PRAGMA user_version = " + std::to_string(kTablesVersion)));
    return {};
  });
}

Status JobStore::begin(const std::string& id, const JobSpec& job, const std::string& owner) {
  MutexLock lock(mutex_);
  return database_.together([&]() MG_REQUIRES(mutex_) -> Status {
    MG_RETURN_IF_ERROR(
        database_.run("INSERT INTO jobs (id, request, title, state, starts, owner) VALUES (?, ?, ?, 'running', 1, ?)",
                      {id, Database::Blob{job.SerializeAsString()}, title_of(job), owner}));
    MG_RETURN_IF_ERROR(database_.run("INSERT INTO attempts VALUES (?, ?, 0)", {id, this_boot()}));
    return {};
  });
}

Status JobStore::set_members(const std::string& id, const net::Members& members) {
  MutexLock lock(mutex_);
  return database_.together([&]() MG_REQUIRES(mutex_) -> Status {
    MG_RETURN_IF_ERROR(database_.run("DELETE FROM members WHERE job = ?", {id}));
    for (const net::Member& member : members.all) {
      if (member.rank == 0) continue;
      MG_RETURN_IF_ERROR(database_.run("INSERT INTO members VALUES (?, ?, ?, ?)",
                                       {id, std::int64_t{member.rank}, member.name, std::int64_t{member.alive}}));
    }
    return {};
  });
}

Status JobStore::checkpoint(const std::string& id, const Report& report) {
  // the file says itself what it is; the row is for people
  MG_RETURN_IF_ERROR(write_private_file(checkpoint_path(id), report.attachment));
  const auto read = job::parse_json<train::CheckpointReport>(report.json);
  const train::CheckpointReport reached = read.ok() ? *read : train::CheckpointReport();
  MutexLock lock(mutex_);
  MG_RETURN_IF_ERROR(
      database_.run("UPDATE jobs SET epoch = ?, step = ? WHERE id = ?", {reached.epoch, reached.step, id}));
  MG_RETURN_IF_ERROR(database_.run("UPDATE attempts SET deaths = 0 WHERE job = ?", {id}));
  return {};
}

Status JobStore::epoch(const std::string& id, std::int64_t number, const Report& report) {
  MutexLock lock(mutex_);
  return database_.together([&]() MG_REQUIRES(mutex_) -> Status {
    MG_RETURN_IF_ERROR(database_.run("DELETE FROM epochs WHERE job = ? AND (epoch >= ? OR epoch <= ?)",
                                     {id, number, number - kMostEpochs}));
    MG_RETURN_IF_ERROR(database_.run("INSERT INTO epochs VALUES (?, ?, ?)", {id, number, report.json}));
    return {};
  });
}

Status JobStore::end(const std::string& id, const Status& ended, const std::optional<Report>& result) {
  MutexLock lock(mutex_);
  const auto write_model = [&]() MG_REQUIRES(mutex_) {
    return result && !result->attachment.empty() ? write_private_file(model_path(id), result->attachment) : Status();
  };
  Status model = write_model();
  Status written = write_end(id, ended, result);
  std::error_code not_there;
  fs::remove(checkpoint_path(id), not_there);
  // on a full disk its room may be enough
  if (!model.ok()) model = write_model();
  if (!written.ok()) written = write_end(id, ended, result);
  if (!written.ok()) std::ofstream(unwritten_end_path(id, state_of(ended)));
  MG_RETURN_IF_ERROR(std::move(written));
  MG_RETURN_IF_ERROR(std::move(model));
  return forget_old();
}

Status JobStore::write_end(const std::string& id, const Status& ended, const std::optional<Report>& result) {
  MG_RETURN_IF_ERROR(
      database_.run("UPDATE jobs SET state = ?, code = ?, message = ?, result = ?, request = NULL, ended = "
                    "CURRENT_TIMESTAMP WHERE id = ?",
                    {state_of(ended), std::int64_t{wire_code(ended)}, wire_message(ended),
                     result ? Database::Value(result->json) : Database::Value(), id}));
  return {};
}

/// Of a job whose end the disk did not take, its row says so now.
Status JobStore::settle_unwritten() {
  MG_TRY(const auto rows, database_.run("SELECT id FROM jobs WHERE state = 'running'"));
  for (const Database::Row& row : rows) {
    const std::string id = text(row, 0);
    const std::string state = unwritten_end(id);
    if (state.empty()) continue;
    const std::string why = "it ended (" + state + ") when the disk of the state folder was full: its result is lost";
    MG_RETURN_IF_ERROR(write_end(id, make_error(Code::data_loss, why), {}));
    std::error_code not_there;
    fs::remove(unwritten_end_path(id, state), not_there);
  }
  return {};
}

std::string JobStore::unwritten_end(const std::string& id) const {
  for (const char* state : kEndStates) {
    std::error_code unreadable;
    if (fs::exists(unwritten_end_path(id, state), unreadable)) return state;
  }
  return {};
}

/// The newest are kept.
Status JobStore::forget_old() {
  for (const char* table : {"attempts", "epochs"})
    MG_RETURN_IF_ERROR(database_.run("DELETE FROM " + std::string(table) +
                                     " WHERE job NOT IN (SELECT id FROM jobs WHERE state = 'running')"));
  MG_TRY(const auto ended, database_.run("SELECT id FROM jobs WHERE state != 'running' ORDER BY number DESC"));
  std::uintmax_t bytes = 0;
  for (std::size_t i = 0; i < ended.size(); ++i) {
    const std::string id = text(ended[i], 0);
    std::error_code not_there;
    fs::remove(checkpoint_path(id), not_there);
    const std::uintmax_t model = fs::file_size(model_path(id), not_there);
    if (!not_there) bytes += model;
    if (i >= kEndedKept || (i > 0 && bytes > kModelsKept)) fs::remove(model_path(id), not_there);
    if (i < kEndedKept) continue;
    fs::remove(last_checkpoint_path(id), not_there);
    MG_RETURN_IF_ERROR(database_.run("DELETE FROM members WHERE job = ?", {id}));
    MG_RETURN_IF_ERROR(database_.run("DELETE FROM jobs WHERE id = ?", {id}));
  }
  return {};
}

Status JobStore::suspend(const std::string& id) {
  MutexLock lock(mutex_);
  MG_RETURN_IF_ERROR(database_.run("UPDATE attempts SET boot = '' WHERE job = ?", {id}));
  return {};
}

Result<std::optional<std::string>> JobStore::why_parked(const std::string& id, std::int64_t starts, Restart why) {
  MG_RETURN_IF_ERROR(database_.run("INSERT OR IGNORE INTO attempts VALUES (?, '', 0)", {id}));  // of an earlier program
  MG_TRY(const auto rows, database_.run("SELECT boot, deaths FROM attempts WHERE job = ?", {id}));
  const std::string boot = this_boot();
  const bool died = why == Restart::coordinator_ended && !boot.empty() && text(rows.at(0), 0) == boot;
  const std::int64_t deaths = integer(rows.at(0), 1) + (died ? 1 : 0);
  MG_RETURN_IF_ERROR(database_.run("UPDATE attempts SET boot = ?, deaths = ? WHERE job = ?", {boot, deaths, id}));
  std::error_code unreadable;
  const bool has_checkpoint = fs::exists(checkpoint_path(id), unreadable);
  if (deaths >= kMostDeaths) {
    std::string reason = "the coordinator died " + std::to_string(deaths) + " times while it ran this job, perhaps " +
                         "because of it, so it is left alone";
    if (has_checkpoint) reason += "; its last checkpoint is " + last_checkpoint_path(id).string();
    return std::optional(std::move(reason));
  }
  if (!has_checkpoint && starts > kMostStarts)
    return std::optional("the job was begun " + std::to_string(kMostStarts) +
                         " times and came to no checkpoint: the coordinator or all nodes ended, perhaps because of it");
  return std::optional<std::string>();
}

Result<std::vector<JobStore::Interrupted>> JobStore::interrupted() {
  MutexLock lock(mutex_);
  MG_RETURN_IF_ERROR(settle_unwritten());
  MG_TRY(const auto rows, database_.run(std::string(kUnended) + " ORDER BY number"));
  std::vector<Interrupted> found;
  for (const Database::Row& row : rows) {
    Result<std::optional<Interrupted>> job = take_up(row, Restart::coordinator_ended);
    if (!job.ok())
      log_error("job not gone on with", {{"job", text(row, 0)}, {"message", job.error().message}});
    else if (*job)
      found.push_back(std::move(**job));
  }
  return found;
}

Result<std::optional<JobStore::Interrupted>> JobStore::again(const std::string& id) {
  MutexLock lock(mutex_);
  MG_RETURN_IF_ERROR(settle_unwritten());
  MG_TRY(const auto rows, database_.run(std::string(kUnended) + " AND id = ?", {id}));
  if (rows.empty()) return std::optional<Interrupted>();
  return take_up(rows.front(), Restart::nodes_ended);
}

Result<std::optional<JobStore::Interrupted>> JobStore::take_up(const Database::Row& row, Restart why) {
  const bool has_run = integer(row, 5) > 0;  // else it has only waited for nodes, and is to blame for nothing
  Interrupted found{
      .id = text(row, 0), .job = {}, .starts = integer(row, 2) + (has_run ? 1 : 0), .nodes = 0, .owner = text(row, 4)};
  found.nodes = static_cast<std::size_t>(std::max<std::int64_t>(0, integer(row, 3)));
  if (!found.job.ParseFromString(text(row, 1)))
    return make_error(Code::data_loss, (folder_ / "coordinator.db").string() + ": job " + found.id + " cannot be read");
  std::optional<std::string> parked;
  if (has_run) {
    MG_TRY(parked, why_parked(found.id, found.starts, why));
  }
  if (parked) {
    std::error_code not_there;
    fs::rename(checkpoint_path(found.id), last_checkpoint_path(found.id), not_there);
    MG_RETURN_IF_ERROR(write_end(found.id, make_error(Code::aborted, *parked), {}));
    log_error("job left alone", {{"job", found.id}, {"message", *parked}});
    return std::optional<Interrupted>();
  }
  const Result<std::string> checkpoint = read_file(checkpoint_path(found.id));
  if (checkpoint.ok() && found.job.has_train()) found.job.mutable_train()->set_resume_from(*checkpoint);
  if (!checkpoint.ok() && checkpoint.code() != Code::not_found) return checkpoint.error();
  MG_TRY(const auto epochs, database_.run("SELECT report FROM epochs WHERE job = ? ORDER BY epoch", {found.id}));
  for (const Database::Row& epoch : epochs)
    found.epochs.push_back({.kind = ReportKind::epoch, .json = text(epoch, 0), .attachment = {}});
  MG_RETURN_IF_ERROR(database_.run("UPDATE jobs SET starts = ? WHERE id = ?", {found.starts, found.id}));
  return std::optional(std::move(found));
}

Result<JobStore::Ended> JobStore::ended(const std::string& id) {
  MutexLock lock(mutex_);
  MG_TRY(const auto rows, database_.run("SELECT state, code, message, result, owner FROM jobs WHERE id = ?", {id}));
  if (rows.empty()) return make_error(Code::not_found, "job '" + id + "' is not known here; see: mangrove jobs");
  const Database::Row& row = rows.front();
  if (text(row, 0) == "running") return make_error(Code::failed_precondition, "job '" + id + "' has not ended");
  Ended found{
      .status = status_from_wire(static_cast<int>(integer(row, 1)), text(row, 2)), .result = {}, .owner = text(row, 4)};
  if (!found.status.ok()) return found;
  found.result = Report{.kind = ReportKind::result, .json = text(row, 3), .attachment = {}};
  Result<std::string> model = read_file(model_path(id));
  if (model.ok()) found.result->attachment = std::move(*model);
  return found;
}

Result<std::vector<JobStatus>> JobStore::list(const std::function<bool(const std::string&)>& may_read) {
  MutexLock lock(mutex_);
  MG_TRY(const auto rows,
         database_.run("SELECT id, title, state, starts, epoch, step, message, began, ended, "
                       "(SELECT group_concat(node, ' ') FROM (SELECT node FROM members WHERE job = id AND "
                       "alive ORDER BY rank)), owner FROM jobs ORDER BY number DESC"));
  std::vector<JobStatus> jobs;
  for (const Database::Row& row : rows) {
    JobStatus& job = jobs.emplace_back();
    job.set_id(text(row, 0));
    job.set_title(text(row, 1));
    const std::string unwritten = unwritten_end(job.id());
    job.set_state(unwritten.empty() ? text(row, 2) : unwritten);
    job.set_starts(integer(row, 3));
    job.set_epoch(integer(row, 4));
    job.set_step(integer(row, 5));
    if (may_read(text(row, 10))) job.set_message(text(row, 6));
    job.set_began(text(row, 7));
    job.set_ended(text(row, 8));
    job.set_nodes(text(row, 9));
    job.set_owner(text(row, 10));
  }
  return jobs;
}

}  // namespace mangrove::cluster
