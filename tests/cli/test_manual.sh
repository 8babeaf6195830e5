#!/usr/bin/env bash
# test_manual.sh FANS BUILD - man page and completion: they hold what `--help` says, renderers and
# shells take them, and the build installs them.
# shellcheck source=tests/tool.sh
. "$(dirname "$0")/../tool.sh"
build=$2

# ---- the man page ----
page=$folder/fans.1
"$fans" help --man >"$page" || complain "help --man: exit status $?"
# as_installed FILE: what the build installs; builds with sanitizers write nothing
as_installed() {
    [ ! -d "$build/manual" ] || cmp "$1" "$build/manual/${1##*/}" || complain "the ${1##*/} that is installed is another"
}
as_installed "$page"
if command -v mandoc >/dev/null; then
    mandoc -T lint "$page" || complain "mandoc warns of the page"
    mandoc -T utf8 "$page" | sed 's/.\x08//g' >"$folder/text"
else
    cp "$page" "$folder/text"
fi
if command -v groff >/dev/null; then
    groff -ww -mdoc -Tutf8 "$page" 2>&1 >/dev/null | grep . && complain "groff warns of the page"
fi

# The options and words that --help lists of each command, one a line.
commands=$("$fans" help | sed -nE 's/^  ([a-z]+) .*/\1/p' | grep -vx model)
said() { cat "$folder/said-${1// /-}"; }
for command in $commands "model fit" "model eval"; do
    # shellcheck disable=SC2086 # words on purpose
    "$fans" $command --help | sed -nE 's/^  (-o, )?(--[a-z]+|[A-Z][A-Z.=\/]*).*/\2/p' | sort >"$folder/said-${command// /-}"
done

# every command and option, and no other
for command in $commands "model fit" "model eval"; do
    grep -qx " *fans $command" "$folder/text" || grep -qx ".Ss fans $command" "$page" || complain "the page misses fans $command"
    awk -v head=".Ss fans $command" '$0 == head { on = 1; next } /^\.(Ss|Sh)/ { on = 0 }
        on && $1 == ".It" { print $2 == "Ar" ? $3 : "-" $3 }' "$page" | sort >"$folder/listed"
    diff <(sed 's/^\(--[a-z]*\).*/\1/' "$folder/listed") <(said "$command") || complain "page and --help of $command differ"
done

# ---- bash ----
"$fans" help --completion bash >"$folder/fans.bash" || complain "help --completion bash: exit status $?"
# offers LAST WORDS... : what is offered for the last of them, in one line
offers() {
    # shellcheck disable=SC2016 # for the other bash
    bash -c '. "$0"; COMP_WORDS=(fans "$@"); COMP_CWORD=$#
        compopt() { :; }
        _fans; echo "${COMPREPLY[*]}"' "$folder/fans.bash" "$@"
}
# offered WORDS SAID: the last of the words becomes SAID
offered() {
    local got
    # shellcheck disable=SC2086 # words on purpose
    got=$(offers $1 ${3+"$3"})
    [ "$got" = "$2" ] || complain "completion of 'fans $1': '$got', not '$2'"
}
offered "tra" "train"
offered "train --algo va" "varibad"
offered "train --algo sac,va" "sac,varibad"
offered "train --set fnvae.win" "fnvae.window="
offered "eval run --set sac." ""
offered "check --set env.h" "env.horizon="
offered "train --device c" "cpu cuda"
offered "model f" "fit"
offered "model fit --preset s" "standard small"
offered "model eval --dev" "--device"
offered "train --quiet --se" "--set --seed --seeds"
offered "train task.in" ""
offered "help wo" "work"
offered "check pend" "pendulum"
for command in $commands "model fit"; do
    # shellcheck disable=SC2086 # words on purpose
    diff <(offers $command -- | tr ' ' '\n' | grep -vx -e --help | sort) <(said "$command" | grep '^--') ||
        complain "completion and --help of $command differ"
done
if command -v shellcheck >/dev/null; then shellcheck "$folder/fans.bash" || complain "shellcheck warns of the completion"; fi

# ---- zsh, fish ----
for shell in zsh fish; do
    "$fans" help --completion $shell >"$folder/fans.$shell" || complain "help --completion $shell: exit status $?"
    if command -v $shell >/dev/null; then $shell -n "$folder/fans.$shell" || complain "$shell does not take its script"; fi
done
for command in $commands; do
    options=$(said "$command" | grep '^--')
    [ "$(sed -n "s/.* 'not .*_from $command' -l \([a-z]*\).*/--\1/p" "$folder/fans.fish" | sort)" = "$options" ] || complain "fish knows other options of $command"
    [ "$(sed -n "/^    '$command') _arguments/,/;;/s/^ *'\**\(--[a-z]*\)\[.*/\1/p" "$folder/fans.zsh" | grep -vx -e --help | sort)" = "$options" ] ||
        complain "zsh knows other options of $command"
done
if command -v fish >/dev/null; then
    HOME=$folder fish -c "source $folder/fans.fish; complete -C 'fans train --algo va'" 2>/dev/null | grep -q '^varibad' ||
        complain "fish does not complete an algorithm"
    [ "$(HOME=$folder fish -c "source $folder/fans.fish; complete -C 'fans model eval --se'" 2>/dev/null)" = "" ] ||
        complain "fish takes 'model eval' for 'eval'"
fi
for shell in bash zsh fish; do as_installed "$folder/fans.$shell"; done

refuses 2 "help: --completion csh: no such shell; did you mean 'zsh'?" help --completion csh
refuses 2 "help: --completion powershell: no such shell; there are bash, zsh and fish" help --completion powershell
refuses 2 "help: unknown option '--men'; did you mean '--man'?" help --men
exit $bad
