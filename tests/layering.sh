#!/usr/bin/env bash
# What may include what: tests/layering.sh [ROOT]. One include root lets a forbidden #include compile; this forbids it.
#
# - A module includes only from modules that it declares in DEPENDS. These are above it in the list of CMakeLists.txt, and it
#   includes something of each.
# - A module's tests include only from the module, from what it depends on, from its TEST_DEPENDS, and from tests of modules
#   above it; what lies beside their folders (tests/paths.h) is for all.
# - bench/ includes nothing of tests/.
# - Neither files nor pairs of header and source (NAME.h, NAME.cc) include one another in a circle. Where a source is made of
#   parts that need the types in its header, there is a row in `parts` below.
set -euo pipefail
cd -- "${1:-$(dirname -- "${BASH_SOURCE[0]}")/..}"

# A source, and the parts that it is made of. They include its header for its types; nothing else of it.
parts="
  codec/codec.cc                codec/codecs/rows.h             a table: its rows
  compress/method.cc            compress/methods/rows.h         a table: its rows
  data/augment/augmentation.cc  data/augment/transform.h        a table: its rows
  data/image.cc                 data/image_formats.h            a table: its rows
  data/loader.cc                data/batch_rows.h               what its threads do; a batch is the loader's
  data/shard_file.cc            data/shard_header.h             a piece of the file
  engine/backend.cc             engine/onednn/onednn_backend.h  a table: its rows
  engine/backend.cc             engine/portable/portable_backend.h  a table: its rows
  engine/backend.cc             engine/simd/simd_backend.h      a table: its rows
  engine/program.cc             engine/program_builder.h        compile() builds what the header declares
  graph/graph.cc                graph/node_check.h              create() checks nodes
  graph/graph.cc                graph/node_inference.h          create() infers shapes of nodes
  graph/graph.cc                graph/operator.h                the same
  graph/graph.cc                graph/sample_order.h            create() keeps samples apart
  graph/graph.cc                graph/topological_sort.h        create() sorts nodes
  graph/shape_values.cc         graph/shape_evaluators.h        a table: its rows
  learn/loss.cc                 learn/losses/rules.h            a table: its rows
  learn/optimizer.cc            learn/optimizers/rules.h        a table: its rows
  learn/replica.cc              learn/trainable.h               create() checks the graph
  learn/schedule.cc             learn/schedules/rules.h         a table: its rows
  place/solver.cc               place/solvers/rows.h            a table: its rows
  train/aggregation/aggregation.cc  train/aggregation/rules/rows.h  a table: its rows
  zoo/zoo.cc                    zoo/family.h                    a table: its rows
  tests/net/world.cc            tests/net/grpc_process.h        a table: its rows
"

modules=$(sed -n 's/^foreach(module \(.*\))$/\1/p' CMakeLists.txt)
{
  printf '%s\n' "$parts" | awk 'NF { print "part", $1, $2 }'
  for module in mangrove/*/; do
    awk -v module="$(basename "$module")" '
      { sub(/#.*/, "") }
      { for (i = 1; i <= NF; i++) { word = $i; sub(/\)$/, "", word)
          if (word ~ /^[A-Z_]+$/) list = word
          else if ((list == "DEPENDS" || list == "TEST_DEPENDS") && word ~ /^[a-z_]+$/) print list, module, word } }
    ' "$module/CMakeLists.txt"
  done
  grep -roE --include='*.h' --include='*.cc' --include='*.inc' '^#include "(mangrove|tests|bench)/[^"]*"' mangrove tests bench |
    sed 's/^\([^:]*\):#include "\(.*\)"$/include \1 \2/'
} | awk -v modules="$modules" '
function problem(text) { print "  " text; problems++ }
function above(module, other) { return place[other] && place[other] < place[module] }

# Depends on all that the module depends on, directly or not.
function reaches(module, other,    d) {
  if ((module, other) in depends) return 1
  for (d in place) if (((module, d) in depends) && reaches(d, other)) return 1
  return 0
}

function check_module(file, module, other) {
  if (!place[module]) { problem(file ": the module " module " is not in CMakeLists.txt"); return }
  used[module, other] = 1
  if (module != other && !((module, other) in depends))
    problem(file ": includes from " other ", which is not in the DEPENDS of " module)
}

function check_test(file, module, top, other,    d) {
  if (module == other || other ~ /\.h$/ || !place[module] || reaches(module, other) || (top == "tests" && above(module, other))) return
  for (d in place) if (((module, d) in test_depends) && (d == other || reaches(d, other))) return
  problem(file ": includes from " other ", on which neither " module " nor its TEST_DEPENDS depend")
}

function path(name) { return name ~ /^tests\// ? name : "mangrove/" name }

function unit(file) { sub(/\.(h|cc|inc)$/, "", file); return file }

# Takes nodes that include nothing else, again and again: what is left is a circle, or above one. Then the same from above.
function check_circles(what, count, from, to,    i, more, out, into, gone, left) {
  do {
    more = 0
    split("", out); split("", into)
    for (i = 1; i <= count; i++) if (!(i in gone)) { out[from[i]] = 1; into[to[i]] = 1 }
    for (i = 1; i <= count; i++)
      if (!(i in gone) && (!(to[i] in out) || !(from[i] in into))) { gone[i] = 1; more = 1 }
  } while (more)
  for (i = 1; i <= count; i++) if (!(i in gone)) problem("a circle of " what ": " from[i] " includes " to[i])
}

BEGIN { n = split(modules, list, " "); for (i = 1; i <= n; i++) place[list[i]] = i }
$1 == "part" { part[path($2), path($3)] = 1; next }
$1 == "DEPENDS" {
  depends[$2, $3] = 1
  if (!above($2, $3)) problem("mangrove/" $2 ": depends on " $3 ", which is not above it")
  next
}
$1 == "TEST_DEPENDS" { test_depends[$2, $3] = 1; next }
{
  split($2, file, "/"); split($3, target, "/")
  if (file[1] == "mangrove") {
    if (target[1] != "mangrove") problem($2 ": includes from " target[1] "/")
    else check_module($2, file[2], target[2])
  } else if (file[1] == "tests") check_test($2, file[2], target[1], target[2])
  else if (target[1] == "tests") problem($2 ": includes from tests/")
  from_file[++files] = $2; to_file[files] = $3
  if (($2, $3) in part) { is_used[$2, $3] = 1; next }
  if (unit($2) != unit($3)) { from_unit[++units] = unit($2); to_unit[units] = unit($3) }
}
END {
  for (key in depends) {
    split(key, pair, SUBSEP)
    if (!(key in used)) problem("mangrove/" pair[1] ": depends on " pair[2] ", and includes nothing of it")
  }
  for (key in part) {
    split(key, pair, SUBSEP)
    if (!(key in is_used)) problem("tests/layering.sh: " pair[1] " does not include " pair[2])
  }
  check_circles("files", files, from_file, to_file)
  check_circles("headers and sources", units, from_unit, to_unit)
  exit problems > 0
}' || { echo "layering: the lines above are forbidden" >&2; exit 1; }
