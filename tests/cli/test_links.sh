#!/usr/bin/env bash
# test_links.sh FANS BUILD - what the documentation names is there: files, headings, commands, options
# and config keys. The notebook tells of older versions: only its links are checked.
# shellcheck source=tests/tool.sh
. "$(dirname "$0")/../tool.sh"
fans=$(readlink -f "$fans")
cd "$(dirname "$0")/../.." || exit 1
export LC_ALL=C

# ---- what there is ------------------------------------------------------------------------------

"$fans" --help | sed -nE 's/^  ([a-z]+) .*/\1/p' >"$folder/commands"

# section.key of every option; change.*.key for those of any factor; env.KEY of every environment
"$fans" list options | awk 'NR > 1 { print $1 }' >"$folder/keys"
"$fans" list envs | awk '/^  / { print "env." $1 }' >>"$folder/keys"
"$fans" list envs | awk '/^  / && / factor / { print $1 }' >"$folder/factors"
echo current >>"$folder/factors" # of examples/custom_env.c
echo env.width >>"$folder/keys"  # likewise
sections=$(sed -E 's/\..*//' "$folder/keys" | sort -u | tr '\n' '|' | sed 's/|$//')

# help COMMAND [PART]: what --help prints, asked for once
help() {
    local name=$folder/help.$1.${2:-}
    [ -f "$name" ] || "$fans" "$@" --help >"$name" 2>/dev/null || : >"$name"
    cat "$name"
}

# ---- what a page says ----------------------------------------------------------------------------

# Targets of its links, outside of code: "line target"
links() {
    awk '/^ *```/ { code = !code; next }
        !code {
            gsub(/`[^`]*`/, "")
            while (match($0, /\]\([^)]*\)/)) {
                print FNR, substr($0, RSTART + 2, RLENGTH - 3)
                $0 = substr($0, RSTART + RLENGTH)
            }
        }' "$1"
}

# Its headings as anchors
anchors() {
    awk '/^ *```/ { code = !code } !code && /^#/ { sub(/^#+ */, ""); print tolower($0) }' "$1" |
        sed -E 's/\]\([^)]*\)//g; s/[^a-z0-9 _\x80-\xff-]//g; s/ /-/g'
}

# Its code, a line each: lines of blocks (those that end in \ joined), and spans; "line code"
codes() {
    awk '/^ *```/ { code = !code; next }
        code && /\\$/ { held = held substr($0, 1, length($0) - 1); next }
        code { print FNR, held $0; held = ""; next }
        {
            while (match($0, /`[^`]*`/)) {
                print FNR, substr($0, RSTART + 1, RLENGTH - 2)
                $0 = substr($0, RSTART + RLENGTH)
            }
        }' "$1"
}

# ---- what is wrong with it: one line each ---------------------------------------------------------

wrong_links() {
    local page=$1 line target file
    links "$page" | while read -r line target; do
        case $target in http*://* | mailto:*) continue ;; esac
        file=${target%%#*}
        file=${file:+$(dirname "$page")/$file}
        file=${file:-$page}
        if [ ! -e "$file" ]; then
            echo "$page:$line: there is no $target"
        elif [[ $target = *#* ]] && ! anchors "$file" | grep -qxF -- "${target#*#}"; then
            echo "$page:$line: $file has no heading #${target#*#}"
        fi
    done
}

wrong_command() { # PLACE COMMAND WORDS...
    local place=$1 command=$2 part='' word
    shift 2
    [[ $command =~ ^[a-z]+$ ]] || return 0
    if ! grep -qxF "$command" "$folder/commands"; then
        echo "$place: there is no command 'fans $command'"
        return
    fi
    if help "$command" | grep -qE "fans $command ${1:-none} [A-Z]"; then part=$1; fi
    for word; do
        word=${word%%=*}
        case $word in --help | --version) continue ;; --[a-z]*) ;; *) continue ;; esac
        help "$command" ${part:+"$part"} | grep -qE "^ +(-o, )?$word( |\$)" ||
            echo "$place: 'fans $command${part:+ $part}' has no option $word"
    done
}

wrong_commands() {
    local line code words
    codes "$1" | sed -nE 's/^([0-9]+) +(build\/)?fans ([a-z].*)$/\1 \3/p' | while read -r line code; do
        read -ra words <<<"${code%% \#*}"
        wrong_command "$1:$line" "${words[@]}"
    done
}

wrong_key() { # PLACE KEY
    local section=${2%%.*} rest=${2#*.}
    case $2 in env.reset | env.step | env.unwrapped.*) return ;; esac # of Gymnasium, in Python
    case $rest in c | h | md | ini | so | json | pc | csv | html | cu | mp4) return ;; esac # a file
    if [ "$section" = change ]; then
        grep -qxF "${rest%%.*}" "$folder/factors" || echo "$1: $2: there is no factor '${rest%%.*}'"
        [[ $rest = *.* ]] || return
        set -- "$1" "change.*.${rest#*.}"
    fi
    grep -qxF -- "$2" "$folder/keys" || echo "$1: there is no key $2"
}

# Keys as section.key, and those of config files in blocks
wrong_keys() {
    local line code key section=''
    codes "$1" | while read -r line code; do
        grep -oE "(^|[^a-zA-Z0-9_./-])($sections)(\.[a-z][a-z0-9_]*)+" <<<"$code" |
            sed -E 's/^[^a-z]//' | while read -r key; do wrong_key "$1:$line" "$key"; done
        case $code in
        '['*']'*) section=$(sed -E 's/^\[([^]]*)\].*/\1/' <<<"$code") ;;
        [a-z]*' = '*) [[ ! $section =~ ^($sections)(\.[a-z]+)?$ ]] || wrong_key "$1:$line" "$section.${code%% = *}" ;;
        *) section='' ;;
        esac
    done
}

# ---- the pages ------------------------------------------------------------------------------------

# Faults are found: a page full of them.
cat >"$folder/wrong.md" <<'TEXT'
# A heading with `code`, and more
[gone](gone.md) [here](#a-heading-with-code-and-more) [nowhere](#nowhere) [url](https://example.org)
`fans trian x.ini` and `fans train --sede 3`, `fans model fit x.ini --otu m`, `sac.widht`, `change.wind.rtae`
```
build/fans train a.ini \
    --algo sac --presett small   # a comment with --nothing
build/fans eval RUN --set change.breeze.rate=1
[env]
name = pendulum
nmae = pendulum
```
`fans train --seeds 3 --json F`, `sac.width`, `change.wind.rate`, `env.density`, `fans.h`, `[change.FACTOR]`
TEXT
for part in links commands keys; do "wrong_$part" "$folder/wrong.md"; done >"$folder/found"
for fault in ":2: there is no gone.md" "has no heading #nowhere" "command 'fans trian'" "no option --sede" \
    "'fans model fit' has no option --otu" "no key sac.widht" "no key change.*.rtae" "no option --presett" \
    "no factor 'breeze'" "no key env.nmae"; do
    grep -qF -- "$fault" "$folder/found" || complain "the check of links does not find: $fault"
done
[ "$(wc -l <"$folder/found")" = 10 ] || complain "the check of links finds too much: $(cat "$folder/found")"

pages=$(find . -name '*.md' -not -path './build*' -not -path './out/*' -not -path './.*' -not -path './runs/*' | sed 's#^\./##' | sort)
for page in $pages; do
    wrong_links "$page"
    case $page in docs/notebook/*) continue ;; esac
    wrong_commands "$page"
    wrong_keys "$page"
done >"$folder/found"
while read -r fault; do complain "$fault"; done <"$folder/found"
exit $bad
