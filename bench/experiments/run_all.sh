#!/usr/bin/env bash
# Makes the tables and figures of README and docs again, one experiment after another, each into DIR/NAME.txt and what
# it names there. First says how long that will take. An experiment that is done is not made again: the same command
# goes on after an interruption, and what an experiment keeps itself (its cache) is not lost.
# usage: run_all.sh [--list] BUILD DIR DATA [NAME]...
#   BUILD: a release build with lab and experiments, as build/release    DATA: a folder with MNIST
#   NAME: only these    --list: says what there is, how long it takes on two cores, and what is done, and makes nothing
# Not here, as they need a machine to themselves or another one: benchmarks (bench/run.sh), hosts.py, scale,
# sim_to_real.py, advise_on_threads.py, and what needs a GPU.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

list=0
if [[ ${1-} == --list ]]; then
  list=1
  shift
fi
if (($# < 3)); then
  sed -n 's/^# usage: /usage: /p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
mkdir -p "$2"
build=$(cd "$1" && pwd) dir=$(cd "$2" && pwd) data=$(cd "$3" && pwd)
shift 3
refuse() {
  printf 'run_all.sh: %s\n' "$1" >&2
  exit 2
}
for name in rubato-lab stigmergy online_jobs classic_control; do
  [[ -x $build/bin/$name ]] || refuse "$build lacks bin/$name: build the targets rubato-lab and experiments"
done
lab=$build/bin/rubato-lab

names=() minutes=() pages=() commands=()
# experiment NAME MINUTES PAGE COMMAND     in DIR; $lab, $build, $data, $here and $dir are known
experiment() { names+=("$1") minutes+=("$2") pages+=("$3") commands+=("$4"); }

experiment rules 60 policies.md '"$here/all_rules.sh" "$lab" rules'
experiment knee 35 policies.md '"$here/knee_cells.sh" "$lab" knee'
experiment learned 240 learned.md '"$here/learned_cells.sh" "$lab" learned "$(dirname "$data")"'
experiment ablations 90 learned.md '"$here/learned_ablations.sh" "$lab" ablations'
experiment learned_training 27 learned.md '"$lab" train --scenario random --agent es --initial distilled \
  --generations 20 --population 32 --clusters 24 --rounds 1 --select-every 4 --selection-clusters 200 --seed 1 \
  --licence Apache-2.0 --out learned.safetensors'
for scenario in paper shared4 paper-literal; do
  experiment "fig2_$scenario" 15 reproduction.md \
    '"$lab" experiment fig2 --scenario '"$scenario"' --data "$data" --cache cache --json fig2_'"$scenario"'.json'
done
experiment fig3 40 reproduction.md '"$lab" experiment fig3 --data "$data" --cache cache --json fig3.json'
experiment table1 1 reproduction.md 'for on in table1 table1-ideal; do "$lab" experiment table1 --scenario $on; done'
experiment fig4 1 reproduction.md '"$lab" experiment fig4 --svg fig4.svg'
for scenario in batch-one-slow batch-generations batch-congested batch-mixed batch-wide; do
  experiment "$scenario" 40 batch-size.md '"$lab" batch compare --scenario '"$scenario"' --data "$data" --cache cache \
    --policies dynamix,static,lb-bsp,goodput --seeds 100 --json '"$scenario"'.json'
done
experiment batch_training 10 batch-size.md '"$lab" batch train --updates 200 --generations 500 --selection-tasks 512 \
  --licence Apache-2.0 --out dynamix.safetensors'
experiment sync_switch 30 sync-switch-results.md '"$lab" experiment sync-switch --cache cache --json sync-switch.json'
for scenario in random:20 link shared4 paper; do
  experiment "online_${scenario/:/_}" 5 adapt.md '"$build/bin/online_jobs" --scenario '"$scenario"
done
for scenario in link shared4 paper; do
  experiment "stigmergic_$scenario" 3 stigmergy.md '"$lab" compare --scenario '"$scenario"' --cache cache --seeds 60 \
    --policies asp,cap:4,aimd,knee+decay,learned,stigmergic,knee+decay+gone:20,learned+gone:20'
done
for latency in 0.05 0.1 0.2 0.5; do
  experiment "latency_$latency" 1 stigmergy.md '"$lab" compare --scenario shared4 --seeds 60 --cache cache \
    --policies knee+decay,learned --set cluster.decision_latency='"$latency"
done
experiment corridor 120 stigmergy.md '"$build/bin/stigmergy" train dqn+pheromone+curriculum dqn+curriculum mappo \
  mappo+curriculum right-of-way --seeds 1-10 --out corridor && "$build/bin/stigmergy" table --out corridor'
for task in cartpole acrobot; do
  experiment "dqn_$task" 30 rl.md '"$build/bin/classic_control" '"$task"' 1 10 '"dqn_$task.csv"
done
for task in cartpole acrobot pendulum pendulum_in_tens; do
  experiment "ppo_$task" 30 rl.md '"$build/bin/classic_control" '"$task"' 1 10 '"ppo_$task.csv"' ppo'
done

chosen=()
for i in "${!names[@]}"; do
  if (($# == 0)) || [[ " $* " == *" ${names[i]} "* ]]; then chosen+=("$i"); fi
done
for name in "$@"; do
  [[ " ${names[*]} " == *" $name "* ]] || refuse "found \"$name\", expected one of ${names[*]}"
done

left=0
for i in "${chosen[@]}"; do
  if [[ -e $dir/${names[i]}.done ]]; then
    state="done, $(<"$dir/${names[i]}.done")"
  else
    state="${minutes[i]} min" left=$((left + minutes[i]))
  fi
  ((list)) && printf '%-24s %-24s %s\n' "${names[i]}" "${pages[i]}" "$state"
done
printf '%d experiments, about %d h %02d min on two cores\n' "${#chosen[@]}" $((left / 60)) $((left % 60))
((list)) && exit 0

cd "$dir"
status=0
for i in "${chosen[@]}"; do
  name=${names[i]}
  [[ -e $name.done ]] && continue
  begin=$SECONDS
  if (eval "${commands[i]}") >"$name.txt.partial" 2>"$name.log"; then
    mv "$name.txt.partial" "$name.txt"
    processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
    printf '%s, %s, %s\n' "$(date +%F)" "${processor:-$(uname -m)}" "$("$lab" --version | head -n 1)" >"$name.done"
    printf '%-24s %5d s\n' "$name" $((SECONDS - begin))
  else
    printf '%-24s FAILED, see %s\n' "$name" "$dir/$name.log"
    status=1
  fi
done
exit "$status"
