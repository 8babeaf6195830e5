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

# the file was configured for another prefix: move it, as pkg-config can
pc() { pkg-config --define-variable=prefix="$folder/usr" "$@" fans; }

cat >"$folder/user.c" <<'C'
#include <fans/env.h>
#include <fans/fans.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
    if (fans_fail(FANS_EINVAL, "said %s", "so") != FANS_EINVAL || strcmp(fans_error(), "said so")) return 1;
    printf("%s\n", fans_version());
    return 0;
}
C
# word splitting is wanted: these are flags
# shellcheck disable=SC2046
cc -Wall -Wextra -Werror "$folder/user.c" -o "$folder/user" $(pc --cflags --libs)
version=$(LD_LIBRARY_PATH=$(dirname "$library") "$folder/user")
[ "$version" = "$(pc --modversion)" ] || { echo "library $version, fans.pc $(pc --modversion)"; exit 1; }
[ "fans $version" = "$("$folder/usr/bin/fans" --version)" ] || { echo "the tool has another version"; exit 1; }

# C++ can read the headers too, where there is a compiler for it
if command -v c++ >/dev/null; then
    # shellcheck disable=SC2046
    c++ -x c++ -fsyntax-only -Wall -Werror "$folder/user.c" $(pc --cflags)
fi

# environments that the tool loads find the public functions in it
nm -D --defined-only "$folder/usr/bin/fans" | grep -q ' fans_fail$' || { echo "the tool exports nothing"; exit 1; }

# __bss_start, _edata and _end are the linker's own marks
hidden=$(nm -D --defined-only "$library" | awk '$2 != "A" && $3 !~ /^(fans_.*|__bss_start|_edata|_end)$/ { print $3 }')
[ -z "$hidden" ] || { echo "libfans.so shows names that are not public:" "$hidden"; exit 1; }
