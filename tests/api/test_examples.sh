#!/usr/bin/env bash
# test_examples.sh FANS BUILD - the programs in examples/ do what they say, and stay short.
# shellcheck source=tests/tool.sh
. "$(dirname "$0")/../tool.sh"
build=$2
source=$(dirname "$0")/../..

for name in act train_own_loop robot; do
    [ "$(wc -l <"$source/examples/$name.c")" -lt 80 ] || complain "$name.c has 80 lines or more"
done

# act: a run that was trained by the tool
"$fans" train "$source/configs/pendulum_flip.ini" --preset small --steps 800 --quiet --out "$folder/flip" \
    --set env.horizon=50 >/dev/null || complain "cannot train"
"$build/example_act" "$folder/flip/seed-0" 4 >"$folder/out" || complain "act: status $?"
[ "$(grep -c '^return -[0-9.]*$' "$folder/out")" = 4 ] || complain "act prints $(cat "$folder/out")"
"$build/example_act" "$folder/none" 2>"$folder/err" && complain "act finds a run that is not there"
grep -q 'act: .*none: is not the folder of a run' "$folder/err" || complain "act says $(cat "$folder/err")"

# train_own_loop: stopped and resumed, it ends as if it had not been
"$build/example_train_own_loop" "$folder/whole" 700 || complain "train_own_loop: status $?"
timeout -s KILL 0.5 "$build/example_train_own_loop" "$folder/parts" 700
"$build/example_train_own_loop" "$folder/parts" 700 || complain "train_own_loop: cannot resume"
cmp "$folder/whole/metrics.csv" "$folder/parts/metrics.csv" || complain "a resumed run differs"
"$fans" runs "$folder/whole" >/dev/null || complain "fans runs cannot read it"
"$build/example_act" "$folder/whole" 2>"$folder/err" && complain "act steps another program's worlds"
grep -q "another program's" "$folder/err" || complain "act says $(cat "$folder/err")"

# robot: a second of 200 ticks
"$build/example_robot" "$source/configs/pendulum_flip.ini" 1 >"$folder/out" || complain "robot: status $?"
grep -q '^200 steps driven, [1-9][0-9]* learned from$' "$folder/out" || complain "robot: $(cat "$folder/out")"

exit "$bad"
