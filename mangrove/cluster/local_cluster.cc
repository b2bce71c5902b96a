#include "mangrove/cluster/local_cluster.h"

#include <unistd.h>

#include <optional>
#include <string_view>
#include <thread>

#include "mangrove/base/log.h"
#include "mangrove/base/mutex.h"
#include "mangrove/base/stop.h"
#include "mangrove/base/units.h"
#include "mangrove/cluster/child_process.h"
#include "mangrove/identity/store.h"

namespace mangrove::cluster {
namespace {

using identity::Role;

constexpr std::chrono::seconds kLifetime = std::chrono::days(365);
constexpr const char* kAdminName = "embedded-";  // the number of the process follows
constexpr Seconds kUpWithin = 30;
constexpr Seconds kDownWithin = 5;
constexpr Seconds kEndSeenWithin = 1;      // of a process that has closed its output
constexpr Seconds kDeathCheckEvery = 0.1;  // whether a process has died
constexpr std::size_t kQuotedLines = 5;
const char* const kEverywhere = "/";  // the jobs are of the user who starts the cluster

/// The last lines of a log, to be quoted in an error; "" where there is none.
std::string end_of_log(const fs::path& log) {
  if (log.empty()) return {};
  const Result<std::string> text = read_file(log);
  if (!text.ok() || text->empty()) return {};
  std::size_t start = text->size();
  for (std::size_t line = 0; line < kQuotedLines && start != std::string::npos && start > 0; ++line)
    start = text->rfind('\n', start >= 2 ? start - 2 : 0);
  std::string end = text->substr(start == std::string::npos || start >= text->size() ? 0 : start);
  while (!end.empty() && (end.front() == '\n' || end.front() == ' ')) end.erase(0, 1);
  while (!end.empty() && (end.back() == '\n' || end.back() == ' ')) end.pop_back();
  return end;
}

/// Removes the admins' identities of clusters whose process was killed.
void forget_dead_admins(const fs::path& folder) {
  std::error_code error;
  for (const fs::directory_entry& file : fs::directory_iterator(folder, error)) {
    const std::string name = file.path().stem().string();
    if (name.find(std::string(".admin.") + kAdminName) == std::string::npos) continue;
    const std::string process = name.substr(name.rfind('-') + 1);
    if (!fs::exists("/proc/" + process, error)) fs::remove(file.path(), error);
  }
}

}  // namespace

std::vector<LocalNode> local_nodes(int count) {
  std::vector<LocalNode> nodes;
  for (int i = 1; i <= count; ++i) nodes.push_back({.name = "node-" + std::to_string(i)});
  return nodes;
}

struct LocalCluster::Impl {
  explicit Impl(LocalClusterOptions given) : options(std::move(given)) {}

  void keep(const std::stop_token& stop);
  Status bring_up();
  void take_down();
  fs::path log_of(const std::string& name) const;
  Result<std::string> await_ready(const std::string& name, ChildProcess& child, Deadline deadline);
  Status launch(const std::string& name, const fs::path& program, const std::vector<std::string>& arguments,
                identity::Role role);
  Status launch_node(const LocalNode& node);
  void add_access(std::vector<std::string>& arguments) const;
  identity::Identity make_identity(identity::Role role, const std::string& name) const;
  void keep_admin();
  void look_for_deaths();
  Status check_all_live();

  LocalClusterOptions options;
  const identity::Authority authority = identity::Authority::make(identity::wall_now());
  std::shared_ptr<const net::Credentials> admin;  // set by bring_up()
  fs::path admin_file;                            // of this user, for other programs; "": there is none
  std::string coordinator;
  std::vector<pid_t> node_pids;
  struct Child {
    std::string name;
    std::unique_ptr<ChildProcess> process;
    bool died = false;
  };
  std::vector<Child> children;  // used by the keeper alone
  Mutex mutex;
  Condition changed;
  std::optional<Status> up MG_GUARDED_BY(mutex);
  std::vector<std::string> deaths MG_GUARDED_BY(mutex);
  std::jthread keeper;
};

/// The processes die with the thread that started them (see ChildProcess), so one thread starts them, lives as long as
/// the cluster does, and ends them.
void LocalCluster::Impl::keep(const std::stop_token& stop) {
  Status status = bring_up();
  const bool good = status.ok();
  {
    MutexLock lock(mutex);
    up = std::move(status);
    changed.notify_all();
  }
  while (good && !wait_for_stop(stop, kDeathCheckEvery)) look_for_deaths();
  take_down();
}

Status LocalCluster::Impl::bring_up() {
  const SteadyClock clock;
  if (!options.insecure)
    admin = net::Credentials::of(make_identity(Role::admin, kAdminName + std::to_string(getpid())));
  std::vector<std::string> arguments{"coordinator"};
  add_access(arguments);
  arguments.insert(arguments.end(), {"--listen", options.host + ":0", "--state", "none", "--allow-path", kEverywhere});
  if (!options.data_folder.empty()) arguments.insert(arguments.end(), {"--data-dir", options.data_folder.string()});
  MG_RETURN_IF_ERROR(launch("coordinator", options.program, arguments, Role::coordinator));
  MG_TRY(coordinator, await_ready("coordinator", *children.front().process, clock.after(kUpWithin)));
  // one after the other: the first is rank 1, and none measures its speed while its neighbours do
  for (const LocalNode& node : options.nodes) {
    MG_RETURN_IF_ERROR(launch_node(node));
    MG_RETURN_IF_ERROR(check_all_live());
  }
  if (admin) keep_admin();
  return {};
}

/// How a process knows who it is: it reads that from its standard input.
void LocalCluster::Impl::add_access(std::vector<std::string>& arguments) const {
  if (options.insecure) {
    arguments.emplace_back("--insecure");
  } else {
    arguments.insert(arguments.end(), {"--identity", "-"});
  }
}

identity::Identity LocalCluster::Impl::make_identity(Role role, const std::string& name) const {
  // nobody renews these certificates, so they are valid for as long as such a cluster may run
  return identity::Identity::make(authority, {role, name}, identity::wall_now(), kLifetime);
}

/// Keeps the admin's identity for `mangrove top` in another terminal. A failure is no error: nothing else needs the
/// file.
void LocalCluster::Impl::keep_admin() {
  const auto store = identity::IdentityStore::of_user();
  forget_dead_admins(store.folder());
  const Result<fs::path> kept = store.save(admin->identity());
  if (kept.ok()) {
    admin_file = *kept;
  } else {
    log_debug("no identity kept", {{"message", kept.error().message}});
  }
}

Status LocalCluster::Impl::launch(const std::string& name, const fs::path& program,
                                  const std::vector<std::string>& arguments, Role role) {
  MG_RETURN_IF_ERROR(identity::check_name(name).context("'" + name + "'"));
  const std::string identity = options.insecure ? std::string() : make_identity(role, name).pem();
  MG_TRY(std::unique_ptr<ChildProcess> child,
         ChildProcess::start(program, arguments, log_of(name), identity).context(name));
  children.push_back({name, std::move(child)});
  return {};
}

void LocalCluster::Impl::look_for_deaths() {
  for (Child& child : children) {
    if (child.died || !child.process->wait(SteadyClock().now())) continue;
    child.died = true;
    MutexLock lock(mutex);
    deaths.push_back("the process of " + child.name + " has died: " + child.process->how_it_ended());
  }
}

/// One that came up and died before the last one was up would be waited for in vain.
Status LocalCluster::Impl::check_all_live() {
  look_for_deaths();
  MutexLock lock(mutex);
  return deaths.empty() ? Status() : make_error(Code::unavailable, deaths.front());
}

Status LocalCluster::Impl::launch_node(const LocalNode& node) {
  std::vector<std::string> command = node.within;
  command.insert(command.end(), {options.program.string(), "node"});
  add_access(command);
  command.insert(command.end(), {"--coordinator", coordinator, "--listen", node.host + ":0", "--name", node.name,
                                 "--threads", std::to_string(options.threads), "--allow-path", kEverywhere});
  if (!options.data_folder.empty()) command.insert(command.end(), {"--data-dir", options.data_folder.string()});
  const fs::path program = command.front();
  command.erase(command.begin());
  MG_RETURN_IF_ERROR(launch(node.name, program, command, Role::node));
  ChildProcess& process = *children.back().process;
  node_pids.push_back(process.pid());
  MG_RETURN_IF_ERROR(await_ready(node.name, process, SteadyClock().after(kUpWithin)));
  return {};
}

fs::path LocalCluster::Impl::log_of(const std::string& name) const {
  return options.log_folder.empty() ? fs::path() : options.log_folder / (name + ".log");
}

/// Reads "... ready on HOST:PORT" and returns the address.
Result<std::string> LocalCluster::Impl::await_ready(const std::string& name, ChildProcess& child, Deadline deadline) {
  constexpr std::string_view kReady = " ready on ";
  Result<std::string> line = child.read_line(deadline);
  if (line.ok()) {
    const std::size_t at = line->find(kReady);
    if (at != std::string::npos) return line->substr(at + kReady.size());
  }
  std::string why = line.ok() ? "it said '" + *line + "'" : line.error().message;
  if (!line.ok() && line.code() == Code::unavailable && child.wait(SteadyClock().after(kEndSeenWithin)))
    why = "its process has died: " + child.how_it_ended();
  std::string message = name + " did not come up: " + why;
  const std::string log = end_of_log(log_of(name));
  if (!log.empty()) message += "; its log ends with:\n" + log;
  return make_error(Code::deadline_exceeded, std::move(message));
}

void LocalCluster::Impl::take_down() {
  const SteadyClock clock;
  const Deadline deadline = clock.after(kDownWithin);
  // nodes first, so that they can say goodbye
  for (std::size_t i = children.size(); i-- > 0;) children[i].process->terminate();
  for (const Child& child : children) child.process->wait(deadline);
  children.clear();  // kills what is left
  std::error_code error;
  if (!admin_file.empty()) fs::remove(admin_file, error);
}

LocalCluster::LocalCluster(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<LocalCluster>> LocalCluster::start(const LocalClusterOptions& options) {
  if (options.nodes.empty())
    return make_error(Code::invalid_argument, "a cluster needs at least 1 node, none was asked for");
  auto impl = std::make_unique<Impl>(options);
  if (impl->options.program.empty()) {
    std::error_code error;
    impl->options.program = fs::read_symlink("/proc/self/exe", error);
    if (error) return make_error(Code::not_found, "/proc/self/exe: " + error.message());
  }
  impl->keeper = std::jthread([raw = impl.get()](const std::stop_token& stop) { raw->keep(stop); });
  MutexLock lock(impl->mutex);
  while (!impl->up) impl->changed.wait_for(impl->mutex, 1);  // bring_up() is bounded
  if (!impl->up->ok()) return impl->up->error();
  return std::unique_ptr<LocalCluster>(new LocalCluster(std::move(impl)));
}

LocalCluster::~LocalCluster() = default;

std::shared_ptr<const net::Credentials> LocalCluster::credentials() const {
  return impl_->admin;
}

const std::string& LocalCluster::coordinator() const {
  return impl_->coordinator;
}

std::vector<std::string> LocalCluster::deaths() const {
  MutexLock lock(impl_->mutex);
  return impl_->deaths;
}

const std::vector<pid_t>& LocalCluster::node_pids() const {
  return impl_->node_pids;
}

}  // namespace mangrove::cluster
