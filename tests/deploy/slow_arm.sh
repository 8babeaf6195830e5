#!/usr/bin/env bash
# slow_arm.sh FANS - exported C on a microcontroller, an emulated Cortex-M7: the self-test passes, and
# what is linked is as large as the command says.
# shellcheck source=tests/tool.sh
. "$(dirname "$0")/../tool.sh"
here=$(cd "$(dirname "$0")" && pwd)
for tool in arm-none-eabi-gcc qemu-system-arm; do
    command -v $tool >/dev/null || { echo "skipped: no $tool; \`./dev deps arm\` installs it" && exit 77; }
done

"$fans" train "$here/../../configs/pendulum_flip.ini" --algo fans --steps 2400 --threads 1 --quiet \
    --set fnvae.updates=200 --out "$folder/run" >/dev/null || complain "no run to export"

# build WEIGHTS : a program for the board
build() {
    "$fans" export "$folder/run" --to c --weights "$1" --out "$folder" --json "$folder/sizes.json" >/dev/null &&
        arm-none-eabi-gcc -std=c99 -Wall -Wextra -pedantic -Werror -O2 -mcpu=cortex-m7 -mthumb \
            -mfpu=fpv5-sp-d16 -mfloat-abi=hard -ffunction-sections -nostartfiles -I"$folder" \
            -T "$here/arm/board.ld" "$here/arm/board.c" "$folder/policy.c" -lm -o "$folder/board.elf"
}

# figure NAME : a number that the export reported
figure() { grep -oE "\"$1\": *[0-9]+" "$folder/sizes.json" | tr -dc 0-9; }

for weights in f32 f16; do
    build $weights || complain "$weights: does not build"
    timeout 120 qemu-system-arm -M mps2-an500 -nographic -monitor none \
        -semihosting-config enable=on,target=native -kernel "$folder/board.elf" >"$folder/said" 2>&1 ||
        complain "$weights: the self-test fails: $(cat "$folder/said")"
    text=$(arm-none-eabi-size "$folder/board.elf" | awk 'NR == 2 { print $1 }')
    echo "$weights: $(cat "$folder/said"), $text bytes of code and constants, $(figure flash) reported"
    code=$((text - $(figure flash)))
    if [ $code -lt 0 ] || [ $code -gt 16384 ]; then
        complain "$weights: $text bytes, but $(figure flash) were reported"
    fi
done
exit $bad
