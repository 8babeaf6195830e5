#!/usr/bin/env bash
# test_model.sh FANS BUILD - fitting, scoring and drawing a model with the tool, and its misuse.
# shellcheck source=tests/tool.sh
. "$(dirname "$0")/../tool.sh"

cat >"$folder/task.ini" <<'TEXT'
[env]
name = fnmdp
d = 3
m = 1
p = 1
q = 1
horizon = 10
[change.theta_s0]
clock = episode
function = sine
amplitude = 2
frequency = 0.5
[change.theta_r0]
clock = episode
function = sine
amplitude = 2
frequency = 0.3
[fnvae]
window = 40
batch = 2
updates = 20
TEXT

fit() { # DIR OPTIONS...
    local to=$1
    shift
    # shellcheck disable=SC2086 # none, or two words
    "$fans" model fit "$folder/task.ini" --preset small ${transitions---transitions 500} --episodes 40 --out "$to" \
        --json "$to.json" "$@" >"$to.txt" 2>"$to.err" || complain "fit: $(cat "$to.err")"
}

# a fit prints its figures; the same command gives the same model, whatever the threads
fit "$folder/a" --threads 1
fit "$folder/b" --threads 2
cmp -s "$folder/a/model.safetensors" "$folder/b/model.safetensors" || complain "threads change the model"
for word in C_ss touched all theta_s0 "one step ahead"; do
    grep -qF "$word" "$folder/a.txt" || complain "fit does not print $word"
done
grep -q '"f1"' "$folder/a.json" || complain "fit's figures lack F1"
grep -q '"precision": "fp32"' "$folder/a.json" || complain "fit's figures lack the precision"

# progress: a line per start and twenty in all updates on a terminal, none elsewhere
[ ! -s "$folder/a.err" ] || complain "fit prints to a file: $(head -1 "$folder/a.err")"
if command -v script >/dev/null; then
    script -qec "$fans model fit $folder/task.ini --preset small --transitions 500 --episodes 40 --threads 1" /dev/null >"$folder/tty.txt"
    [ "$(grep -c "^[0-9]*  " "$folder/tty.txt") $(grep -c "^start [1-3] of 3: " "$folder/tty.txt")" = "15 3" ] ||
        complain "fit on a terminal: $(head -3 "$folder/tty.txt")"
fi

# the saved model is the fitted one
"$fans" model eval "$folder/a" --episodes 40 --json "$folder/eval.json" >"$folder/eval.txt" 2>&1 ||
    complain "eval: $(cat "$folder/eval.txt")"
grep -v " updates on " "$folder/a.txt" | cmp -s - "$folder/eval.txt" || complain "eval differs from fit"
fit "$folder/c" --seed 3
cmp -s "$folder/a/model.safetensors" "$folder/c/model.safetensors" && complain "the seed has no effect"

# the same before the best network was chosen
fit "$folder/early" --stop 3 && fit "$folder/early" --resume
cmp -s "$folder/a/model.safetensors" "$folder/early/model.safetensors" || complain "a fit that was stopped early resumes to another model"

# a stopped fit resumes as if nothing had happened, but only with the same config
fit "$folder/d" --stop 9
cmp -s "$folder/a/model.safetensors" "$folder/d/model.safetensors" && complain "--stop has no effect"
fit "$folder/d" --resume --save 5
cmp -s "$folder/a/model.safetensors" "$folder/d/model.safetensors" || complain "a resumed fit differs"
fit "$folder/j" --set fnvae.jumps=1 --stop 9
fit "$folder/j" --set fnvae.jumps=1 --resume
fit "$folder/k" --set fnvae.jumps=1
cmp -s "$folder/k/model.safetensors" "$folder/j/model.safetensors" || complain "a resumed fit with jumps differs"
cmp -s "$folder/a/model.safetensors" "$folder/j/model.safetensors" && complain "jumps have no effect"
refuses 1 "$folder/d/config.ini: holds a different fit; its config has 'lr = 0.003', this one 'lr = 0.1'" model fit "$folder/task.ini" --preset small \
    --transitions 500 --out "$folder/d" --resume --set fnvae.lr=0.1
refuses 2 "model fit: --save and --resume need --out DIR" model fit "$folder/task.ini" --resume
refuses 2 "--device abacus: not one of" model fit "$folder/task.ini" --device abacus
refuses 2 "--precision fp23: not one of fp32, tf32 and bf16; did you mean 'fp32'?" model fit "$folder/task.ini" --precision fp23
refuses 2 "--precision tf32 needs a GPU: --device cuda" model fit "$folder/task.ini" --precision tf32
CUDA_VISIBLE_DEVICES='' refuses 1 "--precision tf32 needs a GPU: no GPU: " model fit "$folder/task.ini" --device auto --precision tf32

# the graph
"$fans" graph "$folder/a" --svg "$folder/g.svg" --dot "$folder/g.dot" --json "$folder/g.json" >"$folder/g.txt" ||
    complain "graph"
grep -q "s_min" "$folder/g.txt" || complain "graph prints no s_min"
mkdir "$folder/run" # as an agent leaves it
cp "$folder/g.json" "$folder/run/graph.json"
"$fans" graph "$folder/run" >"$folder/again.txt" || complain "graph of a run"
cmp -s "$folder/g.txt" "$folder/again.txt" || complain "the graph of a run is another"
# the true graph, and two of them
accepts "s_min" graph "$folder/task.ini" --truth --json "$folder/truth.json"
accepts "all      " graph "$folder/truth.json" "$folder/a" --json "$folder/pair.json"
grep -q '"missing": \[' "$folder/pair.json" || complain "two graphs: $(cat "$folder/pair.json")"
"$fans" graph "$folder/truth.json" "$folder/truth.json" >"$folder/same.txt" || complain "a graph and itself"
grep -q "^all .* 0 .* 0 .* 1.000$" "$folder/same.txt" || complain "a graph and itself: $(cat "$folder/same.txt")"
grep -q " -> " "$folder/same.txt" && complain "a graph differs from itself: $(cat "$folder/same.txt")"
"$fans" graph "$folder/task.ini" --truth --set env.d=4 --json "$folder/wide.json" >/dev/null || complain "--truth --set"
refuses 1 "the graphs are of different tasks: 3 states and 1 actions, 4 and 1" graph "$folder/truth.json" "$folder/wide.json"
refuses 1 "pendulum: the true graph is not known" graph "$(dirname "$0")/../../configs/pendulum.ini" --truth
refuses 2 "graph: --svg and --dot draw one graph, not two" graph "$folder/a" "$folder/b" --svg "$folder/g.svg"
refuses 2 "graph: --set changes a config: only with --truth or --data" graph "$folder/a" --set env.d=4
refuses 1 "/no/such.json: " graph /no/such.json

grep -q '"states"' "$folder/g.json" || complain "graph.json has no names"
grep -q "</svg>" "$folder/g.svg" || complain "no drawing"
grep -q "digraph" "$folder/g.dot" || complain "no Graphviz"
grep -q "C_tt_s" "$folder/g.json" || complain "no JSON"

# observed factors: every mask is scored
fit "$folder/o" --set fnvae.observed=true
grep -q "C_tt_s" "$folder/o.txt" || complain "observed: C_tt_s is not judged"

# edges by regression, or by the masks
fit "$folder/gates" --set model.edges=gates
"$fans" graph "$folder/gates" >"$folder/gates.txt" || complain "graph of gates"
cmp -s "$folder/g.txt" "$folder/gates.txt" && complain "model.edges has no effect"

# data from a file
sed '/^\[fnvae\]/,$d' "$folder/task.ini" >"$folder/world.ini"
"$fans" rollout "$folder/world.ini" --episodes 50 --csv "$folder/life.csv" >/dev/null || complain "rollout"
refuses 2 "model fit: --transitions and --data exclude each other" model fit "$folder/task.ini" --transitions 100 \
    --data "$folder/life.csv"
transitions='' fit "$folder/d" --data "$folder/life.csv"
grep -q "on 500 transitions" "$folder/d.txt" || complain "not all of the file was read"
cmp -s "$folder/a/model.safetensors" "$folder/d/model.safetensors" || complain "a file of the same life differs"
sed '1s/obs\.s/obs/g; 1s/action\.a/action/' "$folder/life.csv" >"$folder/old.csv" # as version 0.1 wrote it
grep -q ",obs0,obs1,obs2,action0,reward" "$folder/old.csv" || complain "columns: $(head -1 "$folder/old.csv")"
transitions='' fit "$folder/old" --data "$folder/old.csv"
cmp -s "$folder/a/model.safetensors" "$folder/old/model.safetensors" || complain "a file of version 0.1 differs"
head -30 "$folder/life.csv" | sed '9s/,[^,]*,/,oops,/' >"$folder/broken.csv"
refuses 1 "$folder/broken.csv: line 9, column 2: not a number" model fit "$folder/task.ini" --data "$folder/broken.csv"
head -12 "$folder/life.csv" >"$folder/short.csv"
refuses 1 "$folder/short.csv: 11 transitions are fewer than fnvae.window = 40" model fit "$folder/task.ini" \
    --data "$folder/short.csv"
echo "a,b" >"$folder/other.csv"
refuses 1 "$folder/other.csv: line 1: not the columns" model fit "$folder/task.ini" --data "$folder/other.csv"

# episodes that end early give no samples after their end (no zeros, say): a mass that never moves has no R²
"$fans" model fit "$(dirname "$0")/../../configs/minitaur_aep_r.ini" --preset small --set fnvae.updates=1 --transitions 800 \
    --episodes 60 --json "$folder/legs.json" >/dev/null 2>"$folder/err" || complain "minitaur: $(cat "$folder/err")"
[ "$(grep -c '"mass": null' "$folder/legs.json")" = 5 ] || complain "minitaur: $(cat "$folder/legs.json")"

# the graph in data, and what has changed: without its first edge, but with factors elsewhere
"$fans" rollout "$folder/world.ini" --episodes 300 --csv "$folder/early.csv" >/dev/null || complain "rollout"
"$fans" rollout "$folder/world.ini" --episodes 300 --csv "$folder/late.csv" --seed 1 --set env.cut=1 \
    --set change.theta_s0.offset=0.5 >/dev/null || complain "rollout of a cut world"
accepts "s_min" graph "$folder/world.ini" --data "$folder/early.csv" --json "$folder/found.json"
"$fans" graph "$folder/truth.json" "$folder/found.json" >"$folder/judged.txt" || complain "graph found and true"
grep -q "^all .* 0 .* 0 .* 1.000$" "$folder/judged.txt" || complain "the graph in data: $(cat "$folder/judged.txt")"
accepts "no mechanism has changed" graph "$folder/world.ini" --data "$folder/early.csv" --recent "$folder/early.csv"
"$fans" graph "$folder/world.ini" --truth --set env.cut=1 --json "$folder/cut.json" >/dev/null || complain "--truth of a cut world"
edge=$("$fans" graph "$folder/truth.json" "$folder/cut.json" | sed -n 's/^  - //p')
[ -n "$edge" ] || complain "a cut world has all edges"
accepts "$edge" graph "$folder/world.ini" --data "$folder/early.csv" --recent "$folder/late.csv" --alarm 0.01
refuses 1 "fnmdp: cut = 99: there are only 6 such edges" graph "$folder/world.ini" --truth --set env.cut=99
refuses 2 "graph: OTHER, --truth and --data exclude each other" graph "$folder/world.ini" --truth --data "$folder/early.csv"
refuses 2 "graph: --recent needs --data, the earlier data" graph "$folder/world.ini" --recent "$folder/late.csv"

# a training's config works for a fit, too
accepts "2 updates on 600 transitions" model fit "$(dirname "$0")/../../configs/pendulum_flip.ini" --set fnvae.updates=2 \
    --set model.transitions=600 --threads 1 --out "$folder/flip"
accepts "C_as, causes: torque" graph "$folder/flip" --dot "$folder/flip.dot"
grep -q 'label="sin_angle"' "$folder/flip.dot" || complain "nodes have no names: $(cat "$folder/flip.dot")"

refuses 2 "model: there is no 'eva'; did you mean 'eval'?" model eva
refuses 2 "model: there is no 'play'; there are fit and eval" model play
refuses 2 "model fit: --preset: there is no preset 'smal'; did you mean 'small'?" model fit "$folder/task.ini" --preset smal
refuses 1 "/no/such: holds no model (it has no model.safetensors)" model eval /no/such
mkdir "$folder/training"
touch "$folder/training/metrics.csv"
refuses 1 "$folder/training: holds a training run; choose another --out" model fit "$folder/task.ini" --out "$folder/training"
refuses 2 "--set fnvae.p: [fnvae]: p = -1" model fit "$folder/task.ini" --set fnvae.p=-1
refuses 1 "model.transitions = 100: fewer than fnvae.window = 200" model fit "$folder/task.ini" \
    --set fnvae.window=200 --set model.transitions=100
sed -i 's/lstm = .*/lstm = 7/' "$folder/b/config.ini"
refuses 1 "" model eval "$folder/b"
exit "$bad"
