#!/usr/bin/env bash
# banned.sh - functions that must not be called, where they may be after all, and what to do
# instead. Comments and strings do not count. Run from the root of the source, or with another tree
# as second argument (the test of this test).
set -eu
cd "${2:-.}"

rules='
(gets|strcpy|strncpy|strcat|strncat|sprintf|vsprintf|strtok)[(]  -   use snprintf, memcpy or base/text.h
(atoi|atol|atof|sscanf)[(]                      -                    use options_set or text_number: they report errors
hypot[(]                                        -                    use sqrt: glibc 2.35 has another hypot, and a wheel must run before it
strto(d|f|ld)[(]                                -                    use text_number: the program has a locale
(rand|srand|random|srandom|drand48|rand_r)[(]   -                    use base/rng.h
(gmtime|localtime|ctime|asctime|strsignal)[(]   -                    use the _r form: several threads call us
(alloca|tmpnam|mktemp|system|popen)[(]          -                    unsafe
(malloc|calloc|realloc|aligned_alloc|posix_memalign|strdup|strndup|asprintf)[(] src/base/(mem|json).c use base/mem.h, which counts
free[(]                                         src/base/(mem|json).c  use mem_free
json_real[(]                                    src/base/json.c      use json_number: jansson drops what is not finite
(printf|puts|putchar|perror|vprintf)[(]         src/cli/.*           the library never prints: use fans_fail or base/log.h
(stdout|stderr)[^A-Za-z0-9_]                    src/cli/.*           the library never prints: use fans_fail or base/log.h
(exit|_exit|abort|quick_exit|setenv|putenv)[(]  src/cli/.*           the process belongs to the caller: use fans_fail
'

# shellcheck disable=SC2016 # these are awk's variables
find src include -name '*.[ch]' -o -name '*.cu' | sort | xargs awk -v rules="$rules" '
    BEGIN {
        count = split(rules, rows, "\n")
        for (i = 1; i <= count; i++) {
            if (split(rows[i], word, " +") < 3) continue
            pattern[i] = "(^|[^A-Za-z0-9_.>])" word[1]
            allowed[i] = "^(" word[2] ")$"
            advice[i] = rows[i]
            sub(/^[^ ]+ +[^ ]+ +/, "", advice[i])
        }
    }

    # the line without strings and comments
    function code(line,    out, at) {
        gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
        while (line != "") {
            at = index(line, inside ? "*/" : "/*")
            if (!inside) out = out (at ? substr(line, 1, at - 1) : line)
            if (!at) break
            line = substr(line, at + 2)
            inside = !inside
        }
        sub(/\/\/.*/, "", out)
        return out " "
    }

    FNR == 1 { inside = 0 }
    {
        line = code($0)
        for (i in pattern) {
            if (FILENAME ~ allowed[i] || !match(line, pattern[i])) continue
            found = substr(line, RSTART, RLENGTH)
            gsub(/[^A-Za-z0-9_]/, "", found)
            print FILENAME ":" FNR ": " found ": " advice[i]
            bad = 1
        }
    }
    END { exit bad }'
