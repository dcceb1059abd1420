#!/usr/bin/env bash
# What the search for the learned policy owes to its parts: searches of the same budget, an eighth of that for the
# policy that ships, three training seeds each, with another algorithm, another start, one correction alone, or a hidden
# layer. And what is not corrected: how many workers run, and in which order they are released. All are run in the lab's
# scenarios, on seeds of no test. Then how well each learner does with the three actions of Zhu et al., three training
# seeds each, in their scenario. The tables of docs/learned.md. Resumes from DIR.
# usage: learned_ablations.sh LAB DIR
set -euo pipefail
(($# >= 2)) || { grep "^# usage" "${BASH_SOURCE[0]}" >&2; exit 2; }
lab=$1 dir=$2
mkdir -p "$dir"

budget=(--scenario random --clusters 8 --rounds 1 --selection-clusters 50 --licence Apache-2.0)
es=(--agent es --generations 8 --select-every 4)

policies=knee+decay,distilled,learned
policies+=,knee:0.15+decay,knee:0.2+decay,knee:0.45+decay,cap:4:fifo+decay,cap:4:random+decay,cap:4:fastest+decay
search() {  # NAME OPTION...
  local name=$1
  shift
  for seed in 1 2 3; do
    local file=$dir/$name-$seed.safetensors
    "$lab" train --resume --quiet "${budget[@]}" "$@" --seed "$seed" --out "$file"
    policies+=,file:$file
  done
}

search es "${es[@]}" --initial distilled
search cma-es --agent cma-es --generations 16 --select-every 8 --initial distilled
search from-knee "${es[@]}"
search rate-alone "${es[@]}" --corrections rate
search batch-alone "${es[@]}" --corrections batch
search hidden-8 "${es[@]}" --hidden 8

for scenario in shared4 table1 paper link ideal table1-ideal; do
  for layers in 0 1; do
    "$lab" compare --policies "$policies" --quiet --seed 400001 --seeds 60 --cache "$dir/cache" \
      --scenario "$scenario" --set "objective.hidden_layers=$layers" --csv "$dir/$scenario-$layers.csv"
  done
done

learners=asp,ssp:1,ssp:2,ssp:3,ssp:5,ssp:8
learner() {  # NAME OPTION...
  local name=$1
  shift
  for seed in 1 2 3; do
    local file=$dir/actions-$name-$seed.safetensors
    "$lab" train --resume --quiet --scenario paper --agent "$name" --state cluster --licence Apache-2.0 "$@" \
      --seed "$seed" --out "$file"
    learners+=,file:$file
  done
}
learner mc --test-seeds 0
learner dqn --test-seeds 0
learner ppo --test-seeds 0
few=(--clusters 8 --rounds 2 --select-every 4 --selection-clusters 24)
learner es "${few[@]}" --generations 8
learner cma-es "${few[@]}" --generations 8 --population 16
for layers in 0 1 2 3; do
  "$lab" compare --policies "$learners" --quiet --seed 400001 --seeds 60 --cache "$dir/cache" --scenario paper \
    --set "objective.hidden_layers=$layers" --csv "$dir/actions-$layers.csv"
done
python3 "$(dirname "${BASH_SOURCE[0]}")/rule_tables.py" ablations "$dir"
