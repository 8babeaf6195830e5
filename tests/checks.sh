#!/usr/bin/env bash
# checks.sh - the checks of the source find what they are for.
set -u
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
bad=0

# run CHECK FILE LINE : runs it on a tree whose FILE holds LINE
run() {
    rm -rf "$folder/tree"
    mkdir -p "$folder/tree/include/fans" "$folder/tree/src/base" "$folder/tree/$(dirname "$2")"
    echo "$3" >"$folder/tree/$2"
    bash "$here/$1.sh" - "$folder/tree" >"$folder/out" 2>&1
}

# finds CHECK TEXT FILE LINE : it fails and says TEXT
finds() {
    if run "$1" "$3" "$4" || ! grep -qF -- "$2" "$folder/out"; then
        echo "FAILED: $1 on $3: $4: says '$(cat "$folder/out")', not '$2'"
        bad=1
    fi
}

# passes CHECK FILE LINE
passes() {
    if ! run "$1" "$2" "$3"; then
        echo "FAILED: $1 refuses $2: $3: $(cat "$folder/out")"
        bad=1
    fi
}

finds layers "layer base must not include \"nn/nn.h\"" src/base/a.c '#include "nn/nn.h"'
finds layers "layer env must not include \"nn/nn.h\"" src/env/a.h '#  include "nn/nn.h"'
finds layers "layer report must not include \"train/run.h\"" src/report/a.c '#include "train/run.h"'
finds layers "layer learn must not include \"algo/list.h\"" src/learn/deep/a.c '#include "algo/list.h"'
finds layers "must name its layer" src/base/a.c '#include "b.h"'
finds layers "not a known layer" src/misc/a.c 'int x;'
finds layers "a public header must not include" include/fans/a.h '#include "base/mem.h"'

finds banned "src/base/a.c:1: strcpy" src/base/a.c 'void f(char *a) { strcpy(a, "x"); }'
finds banned "src/nn/a.c:1: printf" src/nn/a.c 'void f(void) { printf("x"); }'
finds banned "src/nn/a.c:1: malloc" src/nn/a.c 'void *f(void) { return malloc(3); }'
finds banned "src/nn/a.c:1: free" src/nn/a.c 'void f(void *x) { free(x); }'
finds banned "src/train/a.c:1: exit" src/train/a.c 'void f(void) { exit(1); }'
finds banned "src/train/a.c:1: stderr" src/train/a.c 'void f(void) { fputs("x", stderr); }'
finds banned "src/cli/a.c:1: rand" src/cli/a.c 'int f(void) { return 1+rand(); }'

passes layers src/cli/a.c '#include "algo/list.h"'
passes layers src/env/a.c '#include "fans/env.h"'
passes banned src/cli/a.c 'void f(void) { printf("x"); exit(1); }'
passes banned src/nn/a.c '/* free(x), printf() */ void f(void) { mem_free("exit(1)"); x->free(y); }'
passes banned src/base/mem.c 'void f(void *x) { free(x); }'

exit $bad
