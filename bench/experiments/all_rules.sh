#!/usr/bin/env bash
# Every rule with a tuned parameter and learning rate, in every shipped scenario: the tables of docs/policies.md.
# Resumes from DIR/cache. Needs rubato-lab (any build with the examples) and python3.
# usage: all_rules.sh LAB DIR [SEEDS]      LAB: the program; DIR: for results; SEEDS: of each table (30)
set -euo pipefail
lab=$1 dir=$2 seeds=${3:-30}
mkdir -p "$dir"
decayed=bsp:sum+decay,asp+decay,ssp+decay,cap+decay,knee+decay,aimd+decay,buffer+decay,kasync+decay,ringmaster+decay
for scenario in shared4 table1 paper link ideal table1-ideal paper-literal; do
  "$lab" compare --scenario "$scenario" --policies "all,$decayed" \
    --tune --clairvoyant --seeds "$seeds" --cache "$dir/cache" --json "$dir/$scenario.json" --csv "$dir/$scenario.csv"
done
python3 "$(dirname "${BASH_SOURCE[0]}")/rule_tables.py" rules "$dir"
