#!/bin/bash
# check_man.sh WERKBANK SOURCE: the man pages are well formed, and name every command and option of
# the program and every key of the configuration.
set -euo pipefail
werkbank=$1
source=$2
man=$source/docs/man

# Prints what is missing.
find_missing() {
    local name option key
    for name in $("$werkbank" help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
        grep -qE "^\.(It )?Cm $name\b" "$man/werkbank.1" || echo "command $name"
        for option in $("$werkbank" help "$name" | grep -oE '^  --[a-z]+'); do
            grep -q "^\.It Fl -${option#--}\b" "$man/werkbank.1" || echo "option $option of $name"
        done
    done
    for key in $(sed -n '/} keys\[\]/,/^};/s/^    {"\([a-z_.]*\)".*/\1/p' "$source/src/run/config.c"); do
        grep -qx ".It Va $key" "$man/werkbank-config.5" || echo "key $key"
    done
}

mandoc -Tlint -W warning "$man"/*.[1-9]
missing=$(find_missing)
if [ -n "$missing" ]; then
    echo "not in the man pages: $missing" >&2
    exit 1
fi
