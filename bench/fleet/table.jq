# SPDX-License-Identifier: Apache-2.0
# The steps of bench/fleet/fleet as one table; bench/README.md says what each field is.
def ms($s; $n): if $n > 0 then 1000 * $s / $n else null end;
def rate: { of, batches_a_visit: .batches, pushes_per_second: (.taken / .wall_s), visits_per_second: (.visits / .wall_s),
	database_cpu_ms_a_push: ms(.database_cpu_s; .taken), machines_cpu_ms_a_push: ms(.machines_cpu_s; .taken),
	pushes_per_second_by_cpu_time: (2 * .taken / (.database_cpu_s + .machines_cpu_s)), push_ms_p50, push_ms_p99, visit_ms_p50,
	visit_ms_p99, failed, again, later };
def day: { day, machines, modules, bytes_a_module: ((.bytes - .bytes_of_machines) / .modules), bytes, contributions,
	most_contributions_of_a_module: .most_contributions, pushes: .pushes.taken, samples_counted: .samples };
def of($n; $of): .[] | select(.batches_a_visit == $n and .of == $of);
$crowd[0] as $c | ($c.rates | map(rate)) as $rates
| ($rates | of($uses; "samples")) as $visit | ($rates | of($uses; "estimates")) as $estimated
| ($rates | of(1; "samples")) as $one
| ($c.days | map(day)) as $days
| { table: "fleet", mode: $mode, machine: $machine,
	meaning: "A PostgreSQL cluster of its own; machines are roles, each visit a connection; pushers and database share the CPUs.",
	machines: $machines, modules: $modules, batches_a_visit: $uses, pushes_per_second: $visit.pushes_per_second,
	pushes_per_second_by_cpu_time: $visit.pushes_per_second_by_cpu_time,
	pushes_per_second_one_a_visit: $one.pushes_per_second,
	pushes_per_second_of_estimates: $estimated.pushes_per_second,
	pg_cpu_share: ($uses * $visit.database_cpu_ms_a_push / (6 * 3600000)), pull_ms_p99: $c.pulls.alone.pull_ms_p99,
	pull_ms_p50: $c.pulls.alone.pull_ms_p50, pull_ms_p99_beside_pushes: $c.pulls.beside.pull_ms_p99,
	bytes_per_module: $days[-1].bytes_a_module,
	bytes_per_module_day: ($days[-1].bytes_a_module - $days[-2].bytes_a_module),
	bytes_growth_by_machines: ($days[2].bytes_a_module / $days[1].bytes_a_module),
	overlap_merged_difference: ([$overlaps[0][] | .one_with_10000 - .twenty_with_500] | max),
	first_edit_to_week: ([$edits[0][].first_edit_to_week] | max),
	with_fleet_to_own: ([$edits[0][].with_fleet_to_own] | max),
	liar_shift: ([$liars[0][] | .first_day, .next_day] | max), liar_bound: 0.2,
	kills: $kills[0].kills, kills_pusher: $kills[0].kills_pusher, kills_postgresql: $kills[0].kills_postgresql,
	kills_connection: $kills[0].kills_connection,
	pushes_lost: ($kills[0].pushes_lost + ([$faults[0].faults[].lost] | add)
		+ ([$c.conserved.reported - $c.conserved.counted, 0] | max)),
	pushes_doubled: ($kills[0].pushes_doubled + ([$faults[0].faults[].doubled] | add)
		+ ([$c.conserved.counted - $c.conserved.reported, 0] | max)),
	rates: $rates, days: $days, overlap_merged: $overlaps[0], edits: $edits[0], liars: $liars[0], faults: $faults[0].faults }
