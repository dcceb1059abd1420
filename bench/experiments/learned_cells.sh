#!/usr/bin/env bash
# The learned policy that ships, at the scenario's learning rate, against knee, knee+decay and distilled at the same,
# against rules that are tuned for each cell, and against rules that are tuned and have its freedom, a rate that falls
# and a batch of their own. The tables of docs/learned.md. Resumes from DIR/cache. Needs rubato-lab (any build with the
# examples) and python3.
# usage: [SEEDS=N] learned_cells.sh LAB DIR DATA [PART...]
# SEEDS: so many a cell, in place of 300, 100, 40 or 36; LAB: the program; DIR: for results; DATA: for transfer alone, a
# folder with CIFAR-10's binary files in cifar10/ and what digits_as_idx.py writes in digits/;
# PART: lab held-out transfer room (a clairvoyant plan beside them) actions (the three actions of Zhu et al., trained in
# six minutes) hindsight (how often rules at the host's rate lose to asp at its own, in clusters for development)
set -euo pipefail
(($# >= 3)) || { grep "^# usage" "${BASH_SOURCE[0]}" >&2; exit 2; }
lab=$1 dir=$2 data=$3
shift 3
parts=${*:-lab held-out transfer room actions hindsight}
for part in $parts; do
  case $part in
    lab | held-out | transfer | room | actions | hindsight) ;;
    *)
      echo "learned_cells.sh: found part $part, expected lab, held-out, transfer, room, actions or hindsight" >&2
      exit 2 ;;
  esac
done
mkdir -p "$dir"

rules=bsp,bsp:sum,asp,ssp,cap,knee,aap:0:0.5,aimd  # those that won a column of docs/policies.md, or were near it
freedom=
for rule in asp cap knee; do
  for batch in 4 16 64; do freedom+=${freedom:+,}$rule+decay+batch:$batch; done
done

cell() {  # NAME SEEDS OPTION...
  local name=$1 seeds=${SEEDS:-$2}
  shift 2
  local with=(--quiet --seeds "$seeds" --cache "$dir/cache" "$@")
  "$lab" compare --policies knee,knee+decay,distilled,learned "${with[@]}" --csv "$dir/$name.csv"
  "$lab" compare --policies "$rules" --tune --tuning-seeds 24 "${with[@]}" --csv "$dir/$name.rules.csv"
}

free_cell() {  # NAME SEEDS OPTION...: where the host's batch is 16
  local name=$1 seeds=${SEEDS:-$2}
  shift 2
  cell "$name" "$seeds" "$@"
  "$lab" compare --policies "$freedom" --tune --tuning-seeds 24 --quiet --seeds "$seeds" --cache "$dir/cache" "$@" \
    --csv "$dir/$name.freedom.csv"
}

for part in $parts; do
  case $part in
    lab)
      for scenario in shared4 table1 paper link ideal table1-ideal; do
        for layers in 0 1 3; do
          seeds=300
          [[ $layers != 3 ]] || seeds=100
          free_cell "$scenario-$layers" "$seeds" --scenario "$scenario" \
            --set "objective.hidden_layers=$layers"
        done
      done ;;
    held-out)
      for number in {1..40}; do cell "random-$number" 100 --scenario "random:$number"; done ;;
    transfer)
      one=(--scenario shared4 --set objective.hidden_layers=1)
      for workers in 2 5 8 32 64; do
        cell "workers-$workers" 100 "${one[@]}" --set "workers=$workers"
      done
      cell layers-6 100 --scenario shared4 --set objective.hidden_layers=6
      cell cifar10 100 --data "$data/cifar10" "${one[@]}" --set objective.target_accuracy=0.35 \
        --set objective.learning_rate=0.003
      cell digits 100 --data "$data/digits" "${one[@]}" ;;
    room)
      for layers in 0 1; do  # with three a plan takes ten minutes
        for scenario in shared4 table1 paper link ideal table1-ideal; do
          "$lab" compare --policies knee,knee+decay,distilled,learned --clairvoyant --quiet --seeds "${SEEDS:-40}" \
            --cache "$dir/cache" --scenario "$scenario" --set "objective.hidden_layers=$layers" \
            --csv "$dir/$scenario-$layers.room.csv"
        done
      done ;;
    actions)
      "$lab" train --resume --quiet --scenario paper --agent cma-es --state cluster --generations 14 --population 16 \
        --clusters 12 --rounds 2 --select-every 2 --selection-clusters 32 --out "$dir/actions.safetensors"
      for layers in 0 1 2 3; do
        "$lab" compare --policies "bsp:sum,asp,ssp:1,ssp:2,ssp:3,ssp:5,ssp:8,cap:2,file:$dir/actions.safetensors" \
          --quiet --seeds "${SEEDS:-100}" --cache "$dir/cache" --scenario paper \
          --set "objective.hidden_layers=$layers" --csv "$dir/actions-$layers.csv"
      done ;;
    hindsight)
      for number in {900000..900099}; do
        with=(--quiet --seeds "${SEEDS:-36}" --cache "$dir/cache" --scenario "random:$number")
        "$lab" compare --policies "asp,asp+decay,knee,knee:0.3:eager+decay,knee+decay,distilled,learned" \
          "${with[@]}" --csv "$dir/hindsight-$number.csv"
        "$lab" compare --policies asp --tune --tuning-seeds 12 "${with[@]}" --csv "$dir/hindsight-$number.rules.csv"
      done ;;
  esac
done
python3 "$(dirname "${BASH_SOURCE[0]}")/rule_tables.py" learned "$dir"
