#!/usr/bin/env bash
# Functions for tests that run programs for arm64 on another machine: its kernel starts them with the emulator qemu.
# They are sourced, and call a function `fail` of the test.

formats=/proc/sys/fs/binfmt_misc  # where the kernel is told how it starts programs that are not its own
formats_mounted="" emulator_registered=""

begin_emulator() {
  if [ ! -e "$formats/register" ]; then
    mount -t binfmt_misc binfmt_misc "$formats" || fail "$formats cannot be mounted: the kernel cannot start an emulator"
    formats_mounted=yes
  fi
  if [ ! -e "$formats/qemu-aarch64" ]; then
    cat /usr/lib/binfmt.d/qemu-aarch64.conf > "$formats/register" || fail "$formats/register: the kernel takes no emulator"
    emulator_registered=yes
  fi
}

end_emulator() {  # takes back what begin_emulator has told the kernel, if anything
  [ -z "$emulator_registered" ] || echo -1 > "$formats/qemu-aarch64"
  [ -z "$formats_mounted" ] || umount "$formats"
}
