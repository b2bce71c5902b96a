#!/bin/sh
# Prints the changelog of the Debian packages, in Debian's form, from CHANGELOG.md. What is not released yet, if anything,
# comes first, as VERSION+unreleased. cmake/Package.cmake uses it.
#
#   changelog.sh CHANGELOG.md "The Mangrove authors <mangrove@example.org>"
set -eu
[ $# = 2 ] || { echo "usage: changelog.sh CHANGELOG.md MAINTAINER" >&2; exit 2; }
awk -v maintainer="$2" -v now="$(date -u -R -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}")" '
  function wrap(text, first, rest,   words, count, i, line) {  # lines of at most 78 characters
    count = split(text, words, " ")
    line = first words[1]
    for (i = 2; i <= count; ++i) {
      if (length(line) + 1 + length(words[i]) > 78) { out = out line "\n"; line = rest words[i] }
      else line = line " " words[i]
    }
    out = out line "\n"
  }
  function end_item() { if (item != "") { wrap(item, "  * ", "    "); ++items; item = "" } }
  function end_version() {
    end_item()
    if (version == "unreleased") { pending = items ? out : "" }
    else if (version != "") {
      if (pending != "") { print_version(version "+unreleased", "UNRELEASED", pending, now); pending = "" }
      print_version(version, "bookworm", out, date)
    }
    out = ""; items = 0
  }
  function print_version(version, distribution, changes, date) {
    printf "mangrove (%s) %s; urgency=medium\n\n%s\n -- %s  %s\n\n", version, distribution, changes, maintainer, date
  }
  /^## / {
    end_version()
    version = $2 == "Unreleased" ? "unreleased" : $2
    if ($2 != "Unreleased") {
      command = "date -u -R -d " $4
      if ((command | getline date) <= 0) { failed = 1; exit 1 }  # date has said why
      close(command)
    }
    next
  }
  version == "" { next }
  /^### / { end_item(); out = out (out ? "\n" : "") "  [ " substr($0, 5) " ]\n"; next }
  /^- / { end_item(); item = substr($0, 3); next }
  NF { sub(/^ +/, ""); item = item (item ? " " : "") $0; next }
  { end_item() }
  END { if (!failed) end_version() }
' "$1"
