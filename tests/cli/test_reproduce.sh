#!/usr/bin/env bash
# test_reproduce.sh FANS - tables by one command: every manifest is valid, runs resume, what is done or
# stored is not trained again, and an interrupted reproduction ends with the same page.
# shellcheck source=tests/tool.sh
. "$(dirname "$0")/../tool.sh"
fans=$(readlink -f "$fans")
source=$(cd "$(dirname "$0")/../.." && pwd)

# every table is listed, and every cell of those that can run is a valid run
(cd "$source" && "$fans" reproduce --docs "$folder/docs") || complain "a manifest of tables/ is wrong"
(cd "$source" && "$fans" reproduce --list --json "$folder/list.json" >"$folder/list") || complain "--list fails"
for table in "$source"/tables/*.ini; do
    name=$(basename "$table" .ini)
    grep -q "^$name " "$folder/list" || complain "--list does not name $name"
    [ -s "$folder/docs/$name.md" ] || complain "--docs writes no $name.md"
done
for part in 'Table 1' 'Table A1' 'Table A2' 'Fig. 2 (a-c), A2, A3' 'Fig. 2 (d), A6' '2 (e-f), A7' '2 (g), A5' '2 (h), A4' '2 (i)' '2 (j)' 'Fig. A9'; do
    grep -qF -- "$part" "$folder/list" || complain "--list does not name $part of the paper"
done

# a small world: two tasks, on one of which varibad does not apply
cd "$folder" || exit 1
mkdir tables configs results
sed '/^\[train\]/,$d' "$source/configs/pendulum_flip.ini" >configs/flip.ini
sed 's/clock = episode/clock = step/; s/function = choice/function = sine/; s/values.*/amplitude = 0.5/' configs/flip.ini >configs/flow.ini
small='sac.width=16; sac.batch=16; sac.random_steps=200; train.episodes=8; varibad.initial=800; varibad.updates=20'
cat >tables/tiny.ini <<TEXT
[table]
title = A tiny table & more
where = Table 0
methods = null,sac,varibad
seeds = 2
preset = small

[column.fast]
label = sac_100 %
algo = sac
set = sac.lr=1e-2

[row.flip]
label = Flip
config = flip
set = $small
paper = sac -100.5 10, fast -90.25

[row.flow]
config = flow
set = $small
TEXT
run() { "$fans" reproduce tiny --quiet --device cpu --threads 1 "$@"; }

# killed twice, it ends with the page of one that was not
run --out whole >out || complain "tiny: status $?: $(cat out)"
grep -qF '14 of 14 runs done' out || complain "$(cat out)"
grep -q '^14 runs: 0 done before, 14 done now' out || complain "$(cat out)"
results() { find parts -name result.json 2>/dev/null | wc -l; }
end() { # SIGNAL N : ended as soon as N runs are done
    "$fans" reproduce tiny --quiet --device cpu --threads 1 --out parts --together 2 >out 2>&1 &
    local i
    for ((i = 0; i < 2000 && $(results) < $2; i++)); do sleep 0.01; done
    kill -"$1" $!
    wait $! 2>/dev/null
    [ "$(results)" -lt 14 ] || complain "all runs were done before $1"
}
end KILL 1
end TERM 5
run --out parts >out || complain "after two ends: status $?: $(cat out)"
for ending in .html .tex .md .json -figure.svg -figure.pdf; do
    cmp "whole/tiny$ending" "parts/tiny$ending" || complain "tiny$ending differs after two ends"
done
run --out whole >out
grep -q '^14 runs: 14 done before, 0 done now' out || complain "trained again: $(cat out)"

# what the table says
grep -qE '^Flip +sac +nothing +−100.5 ± 10.0 +– ' out || complain "no line of sac: $(cat out)"
grep -qE '^flow +varibad +boundaries +– +– +– ' out || complain "a method that does not apply: $(cat out)"
grep -qF 'flow, varibad: varibad needs factors that stay for a while' whole/tiny.md || complain "tiny.md does not say why"
grep -qF '<title>A tiny table &amp; more</title>' whole/tiny.html || complain "tiny.html: no title"
grep -qF 'sac\_100 \%' whole/tiny.tex || complain "tiny.tex: $(cat whole/tiny.tex)"
if command -v xmllint >/dev/null; then xmllint --noout whole/tiny.html || complain "tiny.html is not well-formed"; fi
if command -v xmllint >/dev/null; then xmllint --noout whole/tiny-figure.svg || complain "tiny-figure.svg is not well-formed"; fi
if command -v pdftotext >/dev/null; then
    pdftotext -layout whole/tiny-figure.pdf - >out || complain "tiny-figure.pdf is not a PDF"
    grep -q 'sac_100 %' out || complain "tiny-figure.pdf: $(cat out)"
fi
if command -v pdflatex >/dev/null; then
    pdflatex -interaction=batchmode -output-directory . whole/tiny.tex >/dev/null || complain "tiny.tex does not compile"
fi

# a part of it
run --out part --rows flip --columns sac,fast >out || complain "--rows --columns: status $?: $(cat out)"
grep -qF '4 of 4 runs done' out || complain "a part: $(cat out)"
for file in part/small/flip-sac-*/seed-?/metrics.csv; do
    cmp "$file" "whole/${file#part/}" || complain "a part trains other runs"
done
[ "$(find part -name result.json | wc -l)" = 4 ] || complain "more than a part was trained"
refuses 1 "tiny has no row 'flip2'; did you mean 'flip'?" reproduce tiny --rows flow,flip2
refuses 1 "tiny has no column 'fan'" reproduce tiny --columns fan
refuses 1 "tiny: name the rows to train" reproduce tiny --rows ""

# what is stored is ours, and is never lost nor trained again
run --out whole --store >out || complain "--store: status $?"
grep -qF '14 runs stored' out || complain "$(cat out)"
[ "$(grep -c '"id"' results/tiny.json)" = 14 ] || complain "results/tiny.json has not 14 runs"
run --out other --store >out || complain "--store again: status $?: $(cat out)"
grep -qF '0 runs stored' out || complain "stored twice: $(cat out)"
[ ! -d other/small ] || complain "a stored run was trained again"
run --out other --store --seeds 3 >out || complain "--store --seeds 3: status $?: $(cat out)"
grep -qF '7 runs stored' out || complain "a third seed: $(cat out)"
[ "$(grep -c '"id"' results/tiny.json)" = 21 ] || complain "results/tiny.json has not 21 runs"
run --out whole --report >out
grep -E '^Flip +sac ' out | grep -qE '\(3\) .*\(2\) .*holds 0$' || complain "ours and yours: $(cat out)"

# figures: curves; finals over what is varied
figure() { # TITLE LINES... : a manifest with these lines is drawn, and its figure says TITLE
    local title=$1
    shift
    printf '%s\n' "[table]" "title = $title" "methods = null,sac" "preset = small" "seeds = 2" "$@" >tables/drawn.ini
    "$fans" reproduce drawn --quiet --out whole >out || complain "$title: status $?: $(cat out)"
    grep -qF ">$title<" whole/drawn-figure.svg || complain "drawn-figure.svg does not say $title"
}
figure "Flip" "figure = curves" "[row.flip]" "label = Flip" "config = flip" "set = $small"
grep -q '>environment steps<' whole/drawn-figure.svg || complain "no learning curve"
figure "Varied" "varied = rate" "[row.a]" "x = 0.5" "config = flip" "set = $small" "[row.b]" "x = two" "config = flip" "set = $small; sac.lr=1e-2"
if ! { grep -q '>two<' whole/drawn-figure.svg && grep -q '>rate<' whole/drawn-figure.svg; }; then complain "no ticks of what is varied"; fi

# the reduced form: shorter runs with folders of their own, and a page that says so
sed 's/^title = .*/&\nsmall = 900/' tables/tiny.ini >tables/short.ini
"$fans" reproduce short --quiet --seeds 1 --out whole >out || complain "short: status $?: $(cat out)"
ls whole/small/flip-varibad-*-train.episodes=5/seed-0/result.json >/dev/null 2>&1 || complain "short: $(ls whole/small)"
grep -qF 'This is the reduced form: every run has only 900 steps' whole/short.html || complain "short.html does not say that it is reduced"

# what a table costs is what its measured runs cost: sac and sac_100 % on two rows, two seeds each
mkdir results/cost
echo '{"costs": [{"env": "pendulum", "algo": "sac", "steps": 450, "seconds": 450}]}' >results/cost/small.json
"$fans" reproduce --list >out || complain "--list with costs: status $?"
grep -qE '^short .* 2\.00 \(8 runs\)' out || complain "--list: $(grep short out)"

# a table of data has no runs
printf '%s\n' 'step,ms' 'one,2.5' >results/data.csv
printf '%s\n' '[table]' 'title = Data' 'data = data.csv' 'command = measure & store' >tables/data.ini
"$fans" reproduce data --out whole >out || complain "data: status $?: $(cat out)"
grep -qE '^one +2.5' out || complain "data: $(cat out)"
if ! { grep -qF '<td>2.5' whole/data.html && grep -qF 'measure &amp; store' whole/data.html; }; then complain "data.html: no data"; fi
refuses 1 "data has no runs to choose from" reproduce data --rows one
echo one,2,3 >>results/data.csv
refuses 1 "results/data.csv:3: has 3 cells, the first line 2" reproduce data

# scripts for many machines; misuse
accepts 'jobs/tiny.slurm: 2 jobs' reproduce tiny --out jobs --emit slurm --per 7
bash -n jobs/tiny.slurm || complain "tiny.slurm is no script"
refuses 2 "reproduce: name a table" reproduce
refuses 2 "reproduce: there is no table 'tinny'; did you mean 'tiny'?" reproduce tinny
refuses 2 "reproduce: --emit: there is no engine 'slrum'; did you mean 'slurm'?" reproduce tiny --emit slrum
refuses 2 "reproduce: --preset" reproduce tiny --preset tall
wrong() { # TEXT LINE... : a manifest with these lines is refused so
    local text=$1
    shift
    printf '%s\n' "$@" >wrong.ini
    refuses 1 "$text" reproduce ./wrong.ini
}
wrong "./wrong.ini: [table]: has no title" "[table]" "methods = sac"
wrong "./wrong.ini: has no [row.NAME]" "[table]" "title = T" "methods = sac"
wrong "./wrong.ini: [row.a]: has no config" "[table]" "title = T" "methods = sac" "[row.a]" "label = A"
wrong "./wrong.ini: [row.a]: paper: there is no column 'fans'" "[table]" "title = T" "methods = sac" "[row.a]" "config = flip" "paper = fans 1"
wrong "./wrong.ini: there are two columns sac" "[table]" "title = T" "methods = sac,sac"
wrong "./wrong.ini, line 2: [table]: unknown key 'titel'; did you mean" "[table]" "titel = T"
wrong "wrong cannot be reproduced yet: no time" "[table]" "title = T" "missing = no time"
wrong "wrong: configs/none.ini" "[table]" "title = T" "methods = sac" "[row.a]" "config = none"
echo '{"runs": [{"id": "x"}]}' >results/bad.json
refuses 1 "results/bad.json: run 1 needs id, algo, seed" reproduce tiny --report
exit "$bad"
