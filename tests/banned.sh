#!/usr/bin/env bash
# banned.sh - functions that must not be called, where they may be after all, and what to do
# instead. Comments and strings do not count. Run from the root of the source, or with another tree
# as second argument (the test of this test).
set -eu
cd "${2:-.}"

rules='
(gets|strcpy|strncpy|strcat|strncat|sprintf|vsprintf|strtok)\(   -   use snprintf, memcpy or base/text.h
(atoi|atol|atof|sscanf)\(                       -                    use options_set or strtod: they report errors
(rand|srand|random|srandom|drand48|rand_r)\(    -                    use base/rng.h
(gmtime|localtime|ctime|asctime|strsignal)\(    -                    use the _r form: several threads call us
(alloca|tmpnam|mktemp|system|popen)\(           -                    unsafe
(malloc|calloc|realloc|aligned_alloc|posix_memalign|strdup|strndup|asprintf)\( src/base/mem.c use base/mem.h, which counts
free\(                                          src/base/(mem|json).c  use mem_free
(printf|puts|putchar|perror|vprintf)\(          src/cli/.*           the library never prints: use fans_fail or base/log.h
(stdout|stderr)\>                               src/cli/.*           the library never prints: use fans_fail or base/log.h
(exit|_exit|abort|quick_exit|setenv|putenv)\(   src/cli/.*           the process belongs to the caller: use fans_fail
'

# the compiler takes the comments away and leaves the rest as it is
code() {
    cc -w -fpreprocessed -dD -E -P -x c "$1" | sed -E 's/"(\\.|[^"\\])*"/""/g'
}

any=$(awk 'NF { printf "%s%s", sep, $1; sep = "|" }' <<<"$rules")

bad=0
while read -r file; do
    text=$(code "$file")
    grep -qE "$any" <<<"$text" || continue
    while read -r pattern allowed advice; do
        if [ -z "$pattern" ] || [[ $file =~ ^($allowed)$ ]]; then continue; fi
        while read -r found; do
            [ -n "$found" ] || continue
            echo "$file: ${found%(}: $advice"
            bad=1
        done < <(grep -oE "(^|[^A-Za-z0-9_.>])$pattern" <<<"$text" | grep -oE '[A-Za-z0-9_]+\(?$' | sort -u)
    done <<<"$rules"
done < <(find src include -name '*.[ch]' -o -name '*.cu' | sort)
exit $bad
