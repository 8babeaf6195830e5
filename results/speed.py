"""The table of speed, results/speed/speed.csv, from what `./dev bench` prints on each machine.

    ./dev bench nn --seconds 2 >results/speed/cpu.txt
    ./dev bench cuda --seconds 0.5 >results/base-learner/bench-cuda-1.txt
    python3 results/speed.py results/speed/cpu.txt results/base-learner/bench-cuda-1.txt >results/speed/speed.csv

PyTorch's time is the least of its forms: one and two threads on a CPU, eager and captured in a graph on a GPU.
"""
import re
import sys

STEPS = {
    "sac": "SAC 2 × 256 with 57 inputs and batches of 256", "sac-norm": "the same with layer norms",
    "fnvae-64": "FN-VAE with 17 decoders 64 wide: 32 × 50 steps", "fnvae-512": "FN-VAE with 17 decoders 512 wide: 32 × 50 steps",
    "sac-1": "SAC 2 × 256: one replica", "sac-10": "SAC: ten replicas", "sac-54": "SAC: 54 replicas",
    "sac-10-tf32": "SAC: ten replicas in tf32", "sac-54-tf32": "SAC: 54 replicas in tf32",
    "fnvae-fp32": "FN-VAE with 17 decoders 512 wide: 256 × 50 steps", "fnvae-tf32": "the same in tf32"}


def read(path):
    """(machine, {step: our ms}, {step: PyTorch's least ms})"""
    machine, ours, peers = "", {}, {}
    with open(path) as f:
        for line in f:
            if found := re.match(r"PyTorch: (\S+) (?:eager |graph )?([\d.e-]+)", line):
                peers[found[1]] = min(peers.get(found[1], 1e30), 1e3 * float(found[2]))
            elif found := re.match(r"((?:sac|fnvae)\S*) +([\d.]+) ", line):
                ours[found[1]] = float(found[2])
            elif found := re.match(r"(?:1 × )?(.*?), (?:\d+ threads|\d+ GiB)", line):
                machine = found[0].split(",")[0] + (" with " + found[0].split(", ")[1] if "threads" in found[0] else "")
    return machine, ours, peers


def main():
    print("one update,machine,fans ms,PyTorch ms,fans / PyTorch")
    for path in sys.argv[1:]:
        machine, ours, peers = read(path)
        for step in STEPS:
            if step in ours and step in peers:
                print(f"{STEPS[step]},{machine},{ours[step]:.4g},{peers[step]:.4g},{ours[step] / peers[step]:.2f}")


if __name__ == "__main__":
    main()
