#!/usr/bin/env bash
# test_report.sh FANS BUILD - the page that compares runs: its contents, that it is well formed whatever
# the names of folders, and one clear line for input that is not a run.
# shellcheck source=tests/tool.sh
. "$(dirname "$0")/../tool.sh"

report() { # ARGUMENTS... : writes $folder/page.html
    "$fans" report "$@" -o "$folder/page.html" --json "$folder/page.json" >"$folder/out" 2>"$folder/err" ||
        complain "fans report $*: $(cat "$folder/err")"
    well_formed "$folder/page.html"
}

# well_formed FILE : every tag is closed in order, every & begins an entity, no bare < or quote
well_formed() {
    awk -v RS='<' '
        function die(why) { print "not well formed: " why; bad = 1; exit 1 }
        NR == 1 { if (length($0)) die("text in front"); next }
        {
            end = index($0, ">")
            if (!end) die("a bare < before " substr($0, 1, 40))
            tag = substr($0, 1, end - 1); rest = $0
            gsub(/&(amp|lt|gt|quot|#39);/, "", rest)
            if (index(rest, "&")) die("a bare & in " substr($0, 1, 80))
            if (gsub(/"/, "\"", tag) % 2) die("quotes in " tag)
            name = tag; sub(/^\//, "", name); sub(/[ \/].*/, "", name)
            if (tag ~ /^!DOCTYPE/ || tag ~ /\/$/) next
            if (tag ~ /^\//) { if (stack[depth--] != name) die("</" name "> closes <" stack[depth + 1] ">") }
            else stack[++depth] = name
        }
        END { if (!bad && depth) print "not well formed: <" stack[depth] "> is not closed"; exit bad || depth }
    ' "$1" || complain "$1"
}

shows() { # TEXT...
    local text
    for text; do
        grep -qF -- "$text" "$folder/page.html" || complain "the page does not show $text"
    done
}

lacks() { # TEXT...
    local text
    for text; do
        grep -qF -- "$text" "$folder/page.html" && complain "the page shows $text"
    done
}

# number FILTER : one number of the JSON file, by a path like tasks/0/methods/1/score
number() {
    awk -v path="$1" '
        { line = $0; sub(/^ +/, "", line) }
        line ~ /^"/ { key = line; sub(/^"/, "", key); sub(/".*/, "", key) }
        line !~ /^"/ { key = "" }
        line ~ /[[{]$/ {
            depth++; name[depth] = key != "" ? key : count[depth - 1]++
            count[depth] = 0
            next
        }
        line ~ /^[]}]/ { depth--; next }
        {
            at = ""
            for (i = 2; i <= depth; i++) at = at name[i] "/"
            if (at key == path) { sub(/^"[^"]*": /, "", line); sub(/,$/, "", line); print line; exit }
        }' "$folder/page.json"
}

# ---- one seed of two methods: nothing to test -------------------------------------------------------

configs=$(dirname "$0")/../../configs
"$fans" train "$configs/pendulum.ini" --algo null,random --steps 400 --quiet --out "$folder/single" >/dev/null 2>&1 ||
    complain "train"
report "$folder/single"
lacks "p of differences" "1.000"
[ "$(grep -c '"p": null' "$folder/page.json")" = 2 ] || complain "one seed has a p: $(grep '"p"' "$folder/page.json")"

# ---- runs to look at ------------------------------------------------------------------------------

cat >"$folder/swing.ini" <<'TEXT'
[env]
name = pendulum
horizon = 20
[change.gravity]
clock = episode
function = sine
offset = 1
amplitude = 0.5
frequency = 0.5
relative = true
[train]
episodes = 6
TEXT
sed 's/frequency = 0.5/frequency = 0.1/' "$folder/swing.ini" >"$folder/slow.ini"

train() { # CONFIG ALGO OPTIONS...
    local config=$1 algo=$2
    shift 2
    "$fans" train "$folder/$config.ini" --algo "$algo" --out "$folder/runs/$config-$algo" --threads 1 --quiet "$@" \
        >/dev/null 2>"$folder/err" || complain "train $config $algo: $(cat "$folder/err")"
}
small=(--set sac.width=8 --set sac.batch=8 --set sac.random_steps=40)
train swing random --seeds 3
train swing sac --seeds 3 "${small[@]}"
train swing oracle --seeds 3 "${small[@]}"
train slow random --seeds 2

"$fans" train "$folder/swing.ini" "$folder/slow.ini" --algo random --out "$folder/both" --quiet >/dev/null ||
    complain "cannot train two tasks at once"

# ---- the page -------------------------------------------------------------------------------------

report "$folder/runs"
[ "$(wc -l <"$folder/out")" = 6 ] || complain "prints $(cat "$folder/out")" # a head, four methods, the page
[ "$(tail -1 "$folder/out")" = "$folder/page.html: 11 runs on 2 tasks, $(($(wc -c <"$folder/page.html") / 1024)) KiB" ] ||
    complain "prints $(cat "$folder/out")"
shows "11 runs on 2 tasks" '<h2 id="task-1">slow</h2>' '<h2 id="task-2">swing</h2>' "gravity (sine, clock: episode)" \
    "Final returns" "p of differences" "environment steps" "$folder/runs/swing-sac/seed-2" "random_steps = 40" "fans train" "onednn" \
    "No score: it needs runs of both sac and oracle."
lacks "unfinished" "http://" "https://" "<script" "nan"

# the numbers are those of metrics.csv: mean of the final returns, and the area
mean=$(awk -F, 'FNR == 1 { n++; next } { sum[n] += $4; rows[n]++ }
    END { for (i = 1; i <= n; i++) all += sum[i] / rows[i]; printf "%.6g", all / n }' \
    "$folder"/runs/swing-random/seed-*/metrics.csv)
got=$(number tasks/1/methods/0/final_return/mean)
awk -v a="$mean" -v b="$got" 'BEGIN { exit !(b != "" && (a - b) ^ 2 < 1e-4) }' || complain "final return $got, not $mean"
got=$(number tasks/1/methods/0/area/mean)
awk -v a="$mean" -v b="$got" 'BEGIN { exit !(b != "" && (a - b) ^ 2 < 1e-4) }' || complain "area $got, not $mean"
[ "$(number tasks/1/methods/0/runs/2/seed)" = 2 ] || complain "the third seed is not 2"
[ "$(number tasks/1/methods/1/method)" = '"sac"' ] || complain "sac is not the second method"
[ "$(number tasks/1/methods/2/told)" = '"truth"' ] || complain "the oracle was told $(number tasks/1/methods/2/told)"
[ "$(number tasks/1/methods/2/comparable)" = true ] || complain "the oracle is not comparable"
awk -v p="$(number tasks/1/methods/0/wilcoxon/0/p)" 'BEGIN { exit !(p >= 0.25 && p <= 1) }' ||
    complain "three pairs give p = $(number tasks/1/methods/0/wilcoxon/0/p)"

# the same runs give the same page; a run named twice counts once
cp "$folder/page.html" "$folder/first.html"
report "$folder/runs" "$folder/runs/swing-sac" "$folder/runs/swing-sac/seed-1/"
cmp -s "$folder/page.html" "$folder/first.html" || complain "the page depends on how often a run was named"

# times and losses
shows "The same over time" "seconds spent on a run" "Losses" "critic_loss"
lacks "n_updates"
[ "$(head -1 "$folder/runs/swing-sac/seed-0/times.csv")" = step,seconds ] || complain "times.csv: $(cat "$folder/runs/swing-sac/seed-0/times.csv")"
awk -F, 'NR > 1 && !($1 > step && $2 >= seconds) { exit 1 } NR > 1 { step = $1; seconds = $2 } END { exit step != 120 }' \
    "$folder/runs/swing-sac/seed-0/times.csv" || complain "times.csv: $(cat "$folder/runs/swing-sac/seed-0/times.csv")"

# the same runs of another commit
cp -r "$folder/runs/swing-sac" "$folder/later"
sed -i 's/"commit": "[^"]*"/"commit": "later"/' "$folder"/later/seed-*/system.json
refuses 1 "$folder/runs/swing-sac/seed-0 and $folder/later/seed-0: the same task, algorithm, settings and seed 0: give only one of them, or compare commits with --commits" report "$folder/runs/swing-sac" "$folder/later"
report "$folder/runs/swing-sac" "$folder/later" --commits
shows "sac · commit=later"

# tasks that one command trained keep their names
report "$folder/both"
shows '<h2 id="task-1">slow</h2>' '<h2 id="task-2">swing</h2>'

# a run that was started twice still has the name of its config
for _ in 1 2; do
    "$fans" train "$folder/swing.ini" --algo random --out "$folder/legs" --quiet >/dev/null || complain "legs"
done
[ "$(wc -l <"$folder/legs/seed-0/command.txt")" = 2 ] || complain "legs: $(cat "$folder/legs/seed-0/command.txt")"
report "$folder/legs"
shows '<h2 id="task-1">swing</h2>'

# a single run; one method with several settings; an unfinished run; a run without episodes
report "$folder/runs/swing-random/seed-0" --title 'A "title" & <more>'
shows "1 run on 1 task" "A &quot;title&quot; &amp; &lt;more&gt;"
lacks "Final returns"
train swing sac --seeds 3 "${small[@]}" --set sac.lr=0.01 --out "$folder/runs/other"
report "$folder/runs"
shows "sac · lr=0.01" "sac · lr=0.001"
rm -r "$folder/runs/other"
cp -r "$folder/runs" "$folder/cut"
rm "$folder"/cut/swing-sac/seed-1/result.json
head -4 "$folder/runs/swing-sac/seed-1/metrics.csv" >"$folder/cut/swing-sac/seed-1/metrics.csv"
printf '3,80,0,-5' >>"$folder/cut/swing-sac/seed-1/metrics.csv"
rm "$folder"/cut/slow-random/seed-*/result.json
for i in 0 1; do head -1 "$folder/runs/slow-random/seed-$i/metrics.csv" >"$folder/cut/slow-random/seed-$i/metrics.csv"; done
report "$folder/cut"
shows "3 not finished" "(1 unfinished)" "unfinished, 3 of 6 episodes" "No run has finished an episode yet." \
    "Unfinished runs count with their results so far."
lacks "nan"

# ---- scores: only where sac and oracle are far enough apart ---------------------------------------

# set_returns METHOD BASE : every return becomes BASE, a tenth more for each seed
set_returns() {
    local seed
    for seed in 0 1 2; do
        awk -F, -v OFS=, -v to="$2" -v seed=$seed 'NR > 1 { $4 = to + seed / 10 } 1' \
            "$folder/runs/$1/seed-$seed/metrics.csv" >"$folder/made/$1/seed-$seed/metrics.csv"
    done
}
cp -r "$folder/runs" "$folder/made"
set_returns swing-sac -10
set_returns swing-oracle -5
set_returns swing-random -20
report "$folder/made"
shows "more than twice their pooled standard deviation" "Over all tasks with a gap" "<td>1.00</td>" "−2.00"
awk -v s="$(number tasks/1/methods/0/score)" 'BEGIN { exit !((s + 2) ^ 2 < 1e-9) }' ||
    complain "random scores $(number tasks/1/methods/0/score), not -2"
set_returns swing-oracle -9.9
report "$folder/made"
shows "no gap"
[ "$(number tasks/1/methods/0/score)" = null ] || complain "a score without a gap"

# ---- graphs and beliefs ---------------------------------------------------------------------------

run=$folder/made/swing-sac/seed-0
cat >"$run/graph.json" <<'TEXT'
{"d": 2, "m": 1, "p": 2, "q": 1, "threshold": 0.5,
 "masks": {"C_ss": [[0.9, 0.1], [0.2, 0.8]], "C_as": [[0.7], [0.3]], "C_ts": [[0.6, 0.0], [0.0, 0.9]],
  "c_sr": [[0.99, 0.0]], "c_ar": [[0.1]], "C_tt_s": [[1, 0], [0, 1]], "C_tt_r": [[1]]},
 "s_min": [true, false], "theta_s_min": [true, false], "theta_r_min": [true]}
TEXT
# theta0 - theta1 is the gravity from step 10 on, noise before; theta2 is always the same
awk 'BEGIN {
    print "episode,step,tau,true.gravity,true.w<i>nd,theta0,theta1,theta2"
    split("0 10 20 29", taus, " ")
    for (e = 0; e < 60; e++)
        for (i = 1; i <= 4; i++) {
            known = i > 1; g = 10 + 5 * sin(e / 2); noise = sin(e * 7.3)
            printf "%d,%d,%d,%g,%g,%.9g,%.9g,1\n", e, e * 30 + taus[i], taus[i], g, cos(e * e),
                known ? 2 * g + noise : noise, known ? g + noise : 2 * noise
        }
}' >"$run/beliefs.csv"
report "$folder/made"
shows "What sac learned, seed 0" 'class="causal"' "1 more without a path to r" "s0 → s0′, 0.90" "Beliefs against the truth" \
    "w&lt;i&gt;nd" "Distance of the belief"
lacks "What sac learned, seed 1" "Experience under other factors"
good() { awk -v x="$(number "$1")" -v low="$2" -v high="$3" 'BEGIN { exit !(x != "" && x >= low && x <= high) }' ||
    complain "$1 is $(number "$1"), not in $2 … $3"; }
good insights/0/factors/0/r2_first -10 0.5
good insights/0/factors/0/r2_tenth 0.999 1
good insights/0/factors/0/r2_last 0.999 1
good insights/0/factors/1/r2_last -10 0.5
good insights/0/distance_correlation 0.1 1
grep -qE '^ +sac +nothing +3 +-9\.9 ± 0\.1 +gravity 1\.00, w<i>nd -?[0-9.]+ +s0$' "$folder/out" ||
    complain "the short table says $(grep -w sac "$folder/out")"
cp "$run/metrics.csv" "$folder/plain.csv"
awk 'NR == 1 { print $0 ",relabel_share,relabel_error,relabel_change,relabel_slope"; next } { print $0 ",0.5,0.125,1,0.9" }' \
    "$folder/plain.csv" >"$run/metrics.csv"
report "$folder/made"
shows "Experience under other factors" "50 % of what was learned from was relabelled" "errs by 0.125 a step"
good insights/0/relabelled/share 0.5 0.5
good insights/0/relabelled/slope 0.9 0.9
cp "$folder/plain.csv" "$run/metrics.csv"
report "$folder/made"
echo "60,1800,0,9,9,0,0,1" >>"$run/beliefs.csv" # an episode that has only begun
cp "$folder/page.json" "$folder/before.json"
report "$folder/made"
cmp -s "$folder/page.json" "$folder/before.json" || complain "an episode that has only begun changes the figures"
cp "$run/beliefs.csv" "$folder/whole.csv"
head -13 "$folder/whole.csv" >"$run/beliefs.csv"
refuses 1 "$run/beliefs.csv: ends at step 30 of episode 3, but the run has 6 episodes, the last of 20 steps: something cut it off" \
    report "$folder/made" --out "$folder/none.html"
mv "$run/result.json" "$folder/kept.json" # an unfinished run …
head -2 "$folder/whole.csv" >"$folder/x" && cp "$folder/x" "$run/beliefs.csv" # … with too few to say anything
report "$folder/made"
shows "Too few episodes to fit a map: 3 beliefs need 20."
head -1 "$folder/x" >"$run/beliefs.csv"
report "$folder/made"
lacks "Beliefs against the truth"
mv "$folder/kept.json" "$run/result.json"
rm "$run/beliefs.csv"

# ---- by steps since the last change ---------------------------------------------------------------

# a row as short as "segment step length" and rewards of its first bins
segments() {
    echo "segment,step,length,reward0,reward1,reward2,reward3,reward5,reward7,reward10,reward15,reward20,reward30,reward50,reward100,reward200,reward300,reward500,reward1000"
    echo "0,0,2,100,100,,,,,,,,,,,,,,"   # the first half of a run does not count
    echo "1,50,2,1,3,,,,,,,,,,,,,,"
    echo "2,90,1,3,,,,,,,,,,,,,,,"
}
for seed in "$folder/made/swing-sac"/seed-*; do segments >"$seed/segments.csv"; done
report "$folder/made"
shows "Reward after a change" "steps since the last change"
good reward_after_change/1/sac/0 2 2
good reward_after_change/1/sac/1 3 3
sed 's/reward1,/wrong,/' "$run/segments.csv" >"$folder/x" && cp "$folder/x" "$run/segments.csv"
refuses 1 "$run/segments.csv: column 5 is not 'reward1'" report "$folder/made" --out "$folder/none.html"
rm "$run/segments.csv"

# a curve ends where the run ends, not where it was a hundred episodes ago
report "$folder/runs"
shows "smoothed over 5 episodes" 'class="c0 raw"' "<title>"
report "$folder/runs" --smooth 7
shows "smoothed over 7 episodes"

# ---- what is wrong, and where ---------------------------------------------------------------------

echo '{"d": 2}' >"$run/graph.json"
refuses 1 "$run/graph.json: 'm' is not a whole number from 0 to 1000" report "$folder/made" --out "$folder/none.html"
echo '{' >"$run/graph.json"
refuses 1 "$run/graph.json, line " report "$folder/made" --out "$folder/none.html"
rm "$run/graph.json"
echo 'episode,step,tau,theta1' >"$run/beliefs.csv"
refuses 1 "$run/beliefs.csv: column 4 is 'theta1', not 'theta0'" report "$folder/made" --out "$folder/none.html"
rm "$run/beliefs.csv"
printf 'episode,step\n1,2\n' >"$run/metrics.csv"
refuses 1 "$run/metrics.csv: has no column 'return'" report "$folder/made" --out "$folder/none.html"
printf 'episode,step,world,return,length,success\n0,20,0,oops,20,nan\n' >"$run/metrics.csv"
refuses 1 "$run/metrics.csv: line 2, column 4: not a number" report "$folder/made" --out "$folder/none.html"
printf 'episode,step,world,return,length,success\n0,20,0,inf,20,nan\n' >"$run/metrics.csv"
refuses 1 "$run/metrics.csv: line 2, column 'return': not a finite number" report "$folder/made" --out "$folder/none.html"
echo hello >"$run/config.ini"
refuses 1 "$run/config.ini, line 1: neither '[section]' nor 'key = value'" report "$folder/made" --out "$folder/none.html"
cp "$folder/runs/swing-sac/seed-1/"{config.ini,metrics.csv} "$run"
refuses 1 "$folder/made/swing-sac/seed-0 and $folder/made/swing-sac/seed-1: the same task, algorithm, settings and seed 1: give only one of them" report "$folder/made" --out "$folder/none.html"
[ ! -e "$folder/none.html" ] || complain "a page was written in spite of an error"
mkdir "$folder/empty"
refuses 1 "$folder/empty: no run here or below" report "$folder/runs" "$folder/empty"
refuses 1 "/no/such: there is no such folder" report /no/such
refuses 1 "$folder/swing.ini: Not a directory" report "$folder/swing.ini"
refuses 1 "/no/such/page.html: cannot write" report "$folder/runs" --out /no/such/page.html
refuses 2 "report: DIR is missing" report
refuses 2 "report: unknown option '--titel'; did you mean '--title'?" report "$folder/runs" --titel x

# all damaged runs are named; --skip leaves them out
rm -rf "$folder/torn" && cp -r "$folder/runs/swing-sac" "$folder/torn"
for seed in 0 2; do echo '{' >"$folder/torn/seed-$seed/result.json"; done
"$fans" report "$folder/torn" --out "$folder/none.html" >"$folder/out" 2>"$folder/err" && complain "damage goes unnoticed"
[ "$(wc -l <"$folder/err")" = 2 ] || complain "not every damaged run is named: $(cat "$folder/err")"
"$fans" report "$folder/torn" --skip --out "$folder/none.html" >"$folder/out" 2>"$folder/err" || complain "--skip: $(cat "$folder/err")"
[ "$(grep -c "^fans: left out: $folder/torn/seed-" "$folder/err")" = 2 ] || complain "--skip: $(cat "$folder/err")"
grep -q ": 1 run on 1 task" "$folder/out" || complain "--skip: $(cat "$folder/out")"

# a name with a space
cp "$folder/swing.ini" "$folder/my swing.ini"
"$fans" train "$folder/my swing.ini" --algo random --out "$folder/spaced" --quiet >/dev/null || complain "my swing"
report "$folder/spaced"
shows '<h2 id="task-1">my swing</h2>'

# ---- names from outside ---------------------------------------------------------------------------

evil=$folder/'a "b" <script>alert(1)</script> & c'$'\001\377'
mkdir -p "$evil"
cp -r "$folder/runs/swing-random/seed-0" "$evil/seed-0"
printf "fans train '<img src=x>' & --algo random\n" >"$evil/seed-0/command.txt"
sed -i 's/^# resolved.*/# <b>\&amp;/' "$evil/seed-0/config.ini"
report "$evil"
lacks "<script>" "<img"
shows "&lt;script&gt;" "&lt;img src=x&gt;" "# &lt;b&gt;&amp;amp;"
LC_ALL=C grep -q $'[\001\377]' "$folder/page.html" && complain "bytes that are no text are on the page"
exit "$bad"
