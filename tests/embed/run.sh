#!/bin/bash
# run.sh BUILD SOURCE: installs the build below a scratch folder, builds examples/embed against it
# with pkg-config, once with each library, and runs it. Then looks at what the shared library exports
# and drives the interface by embed_test.c. CFLAGS and LDFLAGS are the build's own (sanitizers).
set -euo pipefail
build=$1
source=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
    echo "run.sh: $*" >&2
    exit 1
}

cmake --install "$build" --prefix "$scratch/usr" >"$scratch/install.log"
pc=$(find "$scratch/usr" -name werkbank.pc)
lib=$(dirname "$(dirname "$pc")")
# The file was written for the configured prefix.
sed -i "s|^prefix=.*|prefix=$scratch/usr|" "$pc"
export PKG_CONFIG_PATH=${pc%/*}
export WERKBANK_GUARD=$scratch/usr/bin/werkbank-guard
export XDG_STATE_HOME=$scratch/state XDG_CONFIG_HOME=$scratch/config XDG_CACHE_HOME=$scratch/cache
mkdir "$scratch/ws"
echo 'embedded text' >"$scratch/ws/a.txt"

check_output() { # program
    local out
    out=$("$1" "$scratch/ws" a.txt) || fail "$1 failed: $out"
    grep -q '^read  *read ' <<<"$out" || fail "the surface lacks read: $out"
    grep -q '^lsp  *read ' <<<"$out" || fail "the surface lacks lsp: $out"
    ! grep -qE '^[a-z_]+ +(write|exec) ' <<<"$out" || fail "the cap does not hold: $out"
    grep -q 'embedded text' <<<"$out" || fail "the file was not read: $out"
    ! "$1" "$scratch/ws" absent.txt >/dev/null || fail "a failed call has status 0"
    ! "$1" "$scratch/absent" a.txt 2>"$scratch/err" || fail "an absent workspace has status 0"
    grep -q 'there is no folder' "$scratch/err" || fail "no sentence for an absent workspace"
}

cp -r "$source/examples/embed" "$scratch/embed"
export LD_LIBRARY_PATH=$lib
make -s -C "$scratch/embed" embed
# Read whole: a grep that has seen enough would end ldd by a signal, which pipefail counts.
libraries() { ldd "$scratch/embed/embed"; }
[[ $(libraries) == *libwerkbank.so* ]] || fail "not linked with the shared library"
check_output "$scratch/embed/embed"
make -s -C "$scratch/embed" clean
make -s -C "$scratch/embed" embed STATIC=1
[[ $(libraries) != *libwerkbank* ]] || fail "not linked with the static library"
check_output "$scratch/embed/embed"

nm -D --defined-only "$lib/libwerkbank.so" | awk '$2 != "A" {print $3}' >"$scratch/symbols"
! grep -v '^werkbank_' "$scratch/symbols" || fail "the library exports more than its interface"
declared=$(grep -oE 'werkbank_[a-z_]+\(' "$source/include/werkbank.h" | tr -d '(' | sort -u | wc -l)
exported=$(sed 's/@.*//' "$scratch/symbols" | sort -u | wc -l)
[ "$declared" -eq "$exported" ] || fail "$declared functions are declared, $exported exported"

# shellcheck disable=SC2046,SC2086
${CC:-cc} ${CFLAGS:-} -Wall -Wextra "$source/tests/embed/embed_test.c" -o "$scratch/embed_test" \
    $(pkg-config --cflags --libs werkbank) -lpthread ${LDFLAGS:-}
"$scratch/embed_test" "$scratch/ws"

# Several runs of one host, and a language server that is killed.
mkdir "$scratch/scripted"
printf '# greets\ndef hello\nuse hello\n' >"$scratch/scripted/main.scr"
echo '{}' >"$scratch/scripted/scripted.json"
write_config() { # name, more of the scenario
    echo "{\"journal\": \"$scratch/$1.journal\"$2}" >"$scratch/$1.scenario"
    cat >"$scratch/$1.json" <<END
{"languages": [{"id": "scripted", "extensions": [".scr"], "identifier": "c"}],
 "servers": [{"id": "scripted", "languages": ["scripted"], "markers": ["scripted.json"],
   "commands": [["python3", "$source/tests/peers/scripted_lsp.py", "$scratch/$1.scenario"]],
   "kind": "types", "diagnostics": "push", "install": "nothing to install"}]}
END
}
write_config quick ''
write_config slow ', "late_ms": {"textDocument/hover": 20}'
# shellcheck disable=SC2046,SC2086
${CC:-cc} ${CFLAGS:-} -D_GNU_SOURCE -Wall -Wextra "$source/tests/embed/many_runs.c" \
    -o "$scratch/many_runs" $(pkg-config --cflags --libs werkbank) -lpthread ${LDFLAGS:-}
"$scratch/many_runs" "$scratch/scripted" "$scratch"

# The header is C++ too.
echo '#include <werkbank.h>' >"$scratch/header.cc"
if command -v c++ >/dev/null; then
    # shellcheck disable=SC2046
    c++ -Wall -Wextra -fsyntax-only "$scratch/header.cc" $(pkg-config --cflags werkbank)
fi
echo "embed: ok"
