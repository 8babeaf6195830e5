#!/usr/bin/env bash
# install.sh BUILD - installs to a folder of its own, then does what a user of the library would:
# finds it by pkg-config, compiles against it, runs. The library must show its public names only.
set -eu
build=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cmake --install "$build" --prefix "$folder/usr" >"$folder/log" || { cat "$folder/log"; exit 1; }
library=$(find "$folder/usr" -name libfans.so)
PKG_CONFIG_PATH=$(dirname "$library")/pkgconfig
export PKG_CONFIG_PATH

# the build was configured for another prefix; the file finds the one it is in
pc() { pkg-config "$@" fans; }
[ "$(realpath "$(pc --variable=prefix)")" = "$(realpath "$folder/usr")" ] || { echo "prefix is $(pc --variable=prefix)"; exit 1; }

cat >"$folder/user.c" <<'C'
#include <fans/env.h>
#include <fans/fans.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
    if (fans_fail(FANS_EINVAL, "said %s", "so") != FANS_EINVAL || strcmp(fans_error(), "said so")) return 1;
    printf("%s\n", fans_version());
    return fans_abi() == FANS_ABI ? 0 : 2;
}
C
# word splitting is wanted: these are flags
# shellcheck disable=SC2046
cc -Wall -Wextra -Werror "$folder/user.c" -o "$folder/user" $(pc --cflags --libs)
version=$(LD_LIBRARY_PATH=$(dirname "$library") "$folder/user")
[ "$version" = "$(pc --modversion)" ] || { echo "library $version, fans.pc $(pc --modversion)"; exit 1; }
[ "fans $version" = "$("$folder/usr/bin/fans" --version)" ] || { echo "the tool has another version"; exit 1; }

# the examples are built the way they say
for name in act train_own_loop robot; do
    # shellcheck disable=SC2046
    cc -Wall -Wextra -Werror "examples/$name.c" -o "$folder/$name" $(pc --cflags --libs) -pthread -lm
done
LD_LIBRARY_PATH=$(dirname "$library") "$folder/train_own_loop" "$folder/room" 200
[ -s "$folder/room/result.json" ] || { echo "train_own_loop leaves no result"; exit 1; }

# C++ can read the headers too, where there is a compiler for it
if command -v c++ >/dev/null; then
    # shellcheck disable=SC2046
    c++ -x c++ -fsyntax-only -Wall -Werror "$folder/user.c" $(pc --cflags)

    # and a plug-in in it is found by its C name, as env.h says
    cat >"$folder/plugin.cc" <<'CC'
#include <fans/env.h>
static int open_it(void **, fans_env_info *, const double *, uint64_t) { return fans_fail(FANS_ENOSUP, "from C++"); }
static void close_it(void *) {}
static int reset(void *, fans_rng *, float *) { return 0; }
static int step(void *, fans_rng *, const float *, float *, fans_env_result *) { return 0; }
static int set_factor(void *, int, double) { return 0; }
static size_t state_bytes(const void *) { return 0; }
static void save(const void *, void *) {}
static void restore(void *, const void *) {}
extern "C" FANS_API const fans_env_def fans_env = {FANS_ENV_ABI, "cpp", "a plug-in in C++", nullptr, 0, open_it, close_it,
    reset, step, set_factor, state_bytes, save, restore, nullptr, nullptr, nullptr};
CC
    # shellcheck disable=SC2046
    c++ -shared -fPIC -Wall -Werror "$folder/plugin.cc" -o "$folder/plugin.so" $(pc --cflags)
    "$folder/usr/bin/fans" check "$folder/plugin.so" 2>&1 | grep -q "cpp: from C++" || { echo "a plug-in in C++ is not found"; exit 1; }
fi

# manual and completion lie where man and the shells look
for file in man/man1/fans.1 bash-completion/completions/fans zsh/site-functions/_fans fish/vendor_completions.d/fans.fish; do
    [ -s "$folder/usr/share/$file" ] || { echo "no share/$file"; exit 1; }
done

# environments that the tool loads find the public functions in it
nm -D --defined-only "$folder/usr/bin/fans" | grep -q ' fans_fail$' || { echo "the tool exports nothing"; exit 1; }

# __bss_start, _edata and _end are the linker's own marks
hidden=$(nm -D --defined-only "$library" | awk '$2 != "A" && $3 !~ /^(fans_.*|__bss_start|_edata|_end)$/ { print $3 }')
[ -z "$hidden" ] || { echo "libfans.so shows names that are not public:" "$hidden"; exit 1; }

# what Debian's packages say of it: every name, and the version
diff <(sed -nE 's/^ (fans_[a-z0-9_]+)@Base .*/\1/p' debian/libfans0.2.symbols | sort) \
    <(nm -D --defined-only "$library" | awk '$3 ~ /^fans_/ { print $3 }' | sort) || { echo "debian/libfans0.2.symbols has other names"; exit 1; }
readelf -d "$library" | grep -q "soname: \[$(head -1 debian/libfans0.2.symbols | cut -d' ' -f1)\]" || { echo "the library has another soname than its package"; exit 1; }
head -1 debian/changelog | grep -qF "($version)" || { echo "debian/changelog has another version than $version"; exit 1; }
