#pragma once

#include "mangrove/base/file.h"

namespace mangrove {

/// $HOME, or what the user database says where a service runs without it; the folder of temporary files where neither
/// says anything.
fs::path home_folder();
/// What a person chooses: mangrove in $XDG_CONFIG_HOME or ~/.config.
fs::path config_folder();
/// What must outlive a process and is nobody's choice: mangrove in $XDG_STATE_HOME. Without that variable it is
/// /var/lib/mangrove for root, and ~/.local/state/mangrove for others.
fs::path state_folder();

}  // namespace mangrove
