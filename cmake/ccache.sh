#!/bin/sh
# Compiles with ccache, which keys a precompiled header by what the preprocessor makes of it. If the file that is to be
# made is there from an earlier build, the preprocessor reads that, and not the headers: ccache would give back what these
# were before.
#
#   ccache.sh CCACHE COMPILER ARGUMENTS ...
for argument; do
  case $argument in *.gch) rm -f -- "$argument" ;; esac
done
exec "$@"
