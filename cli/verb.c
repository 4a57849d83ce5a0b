/* SPDX-License-Identifier: Apache-2.0 */

/* The table of verbs. A new one is a line here, next to its declaration. */

#include "cli/verb.h"

#include <string.h>

#include "base/synopsis.h"

int cc_run(int argc, char **argv);
int cxx_run(int argc, char **argv);
int inspect_run(int argc, char **argv);
int split_run(int argc, char **argv);
int fetch_run(int argc, char **argv);
int strip_archive_run(int argc, char **argv);
int record_run(int argc, char **argv);
int top_run(int argc, char **argv);
int profile_run(int argc, char **argv);
int optimize_run(int argc, char **argv);
int tune_run(int argc, char **argv);
int status_run(int argc, char **argv);
int explain_run(int argc, char **argv);
int reoptimize_run(int argc, char **argv);
int rebuild_run(int argc, char **argv);
int fleet_run(int argc, char **argv);
int rollback_run(int argc, char **argv);
int history_run(int argc, char **argv);
int log_run(int argc, char **argv);
int notify_run(int argc, char **argv);
int pin_run(int argc, char **argv);
int pardon_run(int argc, char **argv);
int config_run(int argc, char **argv);
int doctor_run(int argc, char **argv);
int dump_run(int argc, char **argv);
int verify_run(int argc, char **argv);
int translate_run(int argc, char **argv);
int debug_file_run(int argc, char **argv);
int annotate_run(int argc, char **argv);
int stats_run(int argc, char **argv);
int report_run(int argc, char **argv);
int blocks_run(int argc, char **argv);
int diff_run(int argc, char **argv);
int bisect_run(int argc, char **argv);
int benchmark_run(int argc, char **argv);
int restart_run(int argc, char **argv);

const struct verb verbs[] = {
	{ "cc", cc_run,
	  "[--morph-selftest=COMMAND] [--morph-benchmark=COMMAND] [--morph-verify] CLANG-ARGUMENT...",
	  "compile C for Morph: CC=morph-cc", .passes_on = true },
	{ "c++", cxx_run,
	  "[--morph-selftest=COMMAND] [--morph-benchmark=COMMAND] [--morph-verify] CLANG-ARGUMENT...",
	  "compile C++ for Morph: CXX=morph-c++", .passes_on = true },
	{ "inspect", inspect_run, "FILE [--json] [--sidecar-dir DIR]", "what a program carries for Morph" },
	{ "split", split_run, "FILE [-o SIDECAR | --dir DIR] [--keep] [--json]",
	  "move a program's Morph data into a sidecar" },
	{ "fetch", fetch_run, "PROGRAM [-o SIDECAR | --dir DIR] [--url URL]... [--json]",
	  "get a program's sidecar from debuginfod servers" },
	{ "strip-archive", strip_archive_run, "[--json] FILE...",
	  "take the IR out of static libraries that are installed" },
	{ "record", record_run,
	  "[-o FILE] [-F HZ] [--duration S] [--clock NAME] [--files] [--quiet] [--json]\n"
	  "                    (COMMAND [ARG...] | -p PID | -G CGROUP | -a)",
	  "sample a program, or the machine, into a sample log" },
	{ "profile", profile_run,
	  "PROGRAM [SAMPLES...] -o OUT [--estimator NAME] [--from OLD.prof [--half-life TIME]]\n"
	  "                     [--prior OTHERS.prof]... [--generation FILE]... [--sidecar-dir DIR] "
	  "[--seen] [--json]\n"
	  "       morph profile show|diff|merge|carry|prior|export|import ...",
	  "turn samples into block counts; look at them, move them" },
	{ "optimize", optimize_run, SYNOPSIS_OPTIMIZE,
	  "make a new generation of a program from its IR and a profile" },
	{ "tune", tune_run,
	  "PROGRAM [-o FILE] [--profile FILE] [--candidates NAME,...] [--error P] [--least PERCENT]\n"
	  "                  [--minutes N] [--rounds N] [--timeout SECONDS] [--ignore-output] [--selftest] "
	  "[--measure-only]\n"
	  "                  [--state DIR] [--socket=PATH | --bus=ADDRESS]\n"
	  "                  [--shipped FILE | --store DIR] [--sidecar-dir DIR] [--jobs N] [--json]\n"
	  "                  (--benchmark | COMMAND [ARGUMENT...])\n"
	  "       morph tune --all [--when-idle] [OPTION...]\n"
	  "       morph tune --list [--json]",
	  "measure a handful of generations of a program, and keep the best" },
	{ "benchmark", benchmark_run,
	  "PROGRAM [--command COMMAND] [--timeout SECONDS] [--user NAME] [--sidecar-dir DIR] [--quiet | "
	  "--json]",
	  "run the packager's benchmark of a program once, in the sandbox" },
	{ "status", status_run, "[-a] [--all-users] [--json] [--socket=PATH | --bus=ADDRESS]",
	  "programs, samples, generations, and what morphd waits for" },
	{ "top", top_run, "[-f] [-p PID]... [-d SECONDS] [-n ROUNDS] [-l LINES] [-F HZ] [--json]",
	  "modules or functions the CPUs are in right now" },
	{ "report", report_run,
	  "[LOG|DIRECTORY]... [--by DIMENSION[,DIMENSION]...] [--only DIMENSION=PATTERN]... [--since TIME] "
	  "[--until TIME]\n"
	  "                    [--sort share|name] [--least PERCENT] [--limit N] [--skip N] [--state DIR] "
	  "[--debug-dir DIR]\n"
	  "                    [--live SECONDS [-p PID]... [-G CGROUP] [-F HZ]]\n"
	  "                    [--json | --html OUT | --format NAME [--output OUT]]",
	  "where the machine's time went, by program, function, line, user" },
	{ "annotate", annotate_run,
	  "PROGRAM [FUNCTION] [-s SAMPLES]... [--count FUNCTION[+OFFSET]=EXECUTIONS]...\n"
	  "                      [--clock GHZ] [--faults LOG] [--lines] [--all] [--top N] [--sidecar-dir "
	  "DIR]\n"
	  "                      [--debug-dir DIR] [--json]",
	  "how often instructions ran, how long they took, what they waited for" },
	{ "stats", stats_run,
	  "SAMPLES SAMPLES... [--program FILE]... [--modules] [--least PERCENT] [--top N] [--json]",
	  "what differed between runs of the same work, and which function made one slow" },
	{ "diff", diff_run,
	  "[SAMPLES SAMPLES] [-a SAMPLES]... [-b SAMPLES]... [--program FILE]... [--share] [--inlined]\n"
	  "                  [--shipped FILE | --store DIR] [--sidecar-dir DIR] [--top N] [--json]",
	  "what got slower between two sets of samples, two builds, two generations" },
	{ "blocks", blocks_run,
	  "PROGRAM FUNCTION [-s SAMPLES]... [-o OUT.svg | --dot [-o OUT] | --json] "
	  "[--instructions]\n"
	  "                    [--limit N] [--count FUNCTION[+OFFSET]=EXECUTIONS] [--clock GHZ] "
	  "[--sidecar-dir "
	  "DIR]\n"
	  "                    [--debug-dir DIR]\n"
	  "       morph blocks PROGRAM [FUNCTION] [-s SAMPLES]... --hottest N [--json]",
	  "a function's control flow as a graph, with frequencies and cycles; hottest instructions" },
	{ "explain", explain_run, "PATH [--all-users] [--json] [--socket=PATH | --bus=ADDRESS]",
	  "what was done with a program, and why" },
	{ "reoptimize", reoptimize_run, "PATH... [--json] [--socket=PATH | --bus=ADDRESS]",
	  "edit programs now and put the result into place" },
	{ "rebuild", rebuild_run,
	  "(PACKAGE... | --installed [--top N] | --outdated) [--dry-run] [--force] [--check] [--install] "
	  "[--jobs N]\n"
	  "                     [--archive DIR] [--cache DIR] [--apt-directory DIR] [--json]\n"
	  "       morph rebuild --list [--json] | --remove PACKAGE",
	  "build packages of the distribution once more so that they carry IR" },
	{ "restart", restart_run,
	  "--suggest [--json] | --window [--dry-run] [--config FILE] | --unchanged [--socket=PATH | "
	  "--bus=ADDRESS]",
	  "which services still run the code from before" },
	{ "rollback", rollback_run,
	  "(PATH... [--to=GENERATION] | --all) [--json] [--socket=PATH | --bus=ADDRESS]",
	  "put shipped files back" },
	{ "history", history_run, "[PATH] [--all-users] [--json] [--socket=PATH | --bus=ADDRESS]",
	  "generations and events" },
	{ "log", log_run,
	  "[--event=KIND]... [-f] [-n N] [--since=TIME] [-x] [--json] [PATH] | --events [--json]",
	  "what Morph's services wrote into the system's journal" },
	{ "notify", notify_run,
	  "--mail=ADDRESS | --desktop | --print [--state-file=FILE] [--all-users] [--json] [--socket=PATH | "
	  "--bus=ADDRESS]",
	  "tell, once, what was taken back, and what was gained in a month" },
	{ "pin", pin_run,
	  "[[--reason=TEXT | --unpin] [--function=NAME]... [--without=PASS]... PATH...] [--all-users] "
	  " [--json] [--socket=PATH | --bus=ADDRESS]",
	  "never touch a program; without a path: list the pins" },
	{ "pardon", pardon_run, "[PATH...] [--all-users] [--json] [--socket=PATH | --bus=ADDRESS]",
	  "let a program be tried again that crashed; without a path: list them" },
	{ "bisect", bisect_run,
	  "PATH [--slower [--rounds N]] [--runs N] [--timeout SECONDS] [--compare-output] [--report DIR] "
	  "[--keep]\n"
	  "                    [--generation N | [--shipped FILE] --profile FILE [--cpu NAME]] "
	  "[--sidecar-dir DIR]\n"
	  "                    [--state DIR] [--quiet] [--json] [--socket=PATH | --bus=ADDRESS] COMMAND "
	  "[ARG...]",
	  "find the function, or the optimization, that makes a command fail or slower" },
	{ "verify", verify_run,
	  "(PATH... | --all) [--rebuild] [--json] [--root=DIR] [--config=FILE] [--socket=PATH | "
	  "--bus=ADDRESS]",
	  "what differs from the packages, and is that Morph's doing?" },
	{ "fleet", fleet_run,
	  "init URL\n"
	  "       morph fleet machine add NAME [-o FILE] [--for URL] [--url URL] | machine revoke NAME | "
	  "machine list\n"
	  "       morph fleet status | top [--days N] | diff [--days N] | name BUILD-ID NAME [--url URL] "
	  "[--json]\n"
	  "       morph fleet push --stream N [--report FILE] NUMBER=FILE... [--credential FILE] [--timeout "
	  "SECONDS]\n"
	  "       morph fleet pull BUILD-ID -o FILE | pull [--report FILE] BUILD-ID=FILE... [--credential "
	  "FILE]\n"
	  "       morph fleet export PACKAGE|PATH -o FILE [--credential FILE]",
	  "counts of many machines in one database" },
	{ "translate", translate_run,
	  "PATH [--shipped FILE | --store DIR] [--from-shipped] [--base HEX] [--file-offsets]\n"
	  "                       [--return-addresses] [--name NAME] [--sidecar-dir DIR] [--json] "
	  "[ADDRESS|LINE...]",
	  "addresses of an optimized program in terms of the shipped one" },
	{ "debug-file", debug_file_run,
	  "PATH [-o FILE | --dir DIR] [--shipped FILE | --store DIR] [--debug-dir DIR] [--sidecar-dir DIR] "
	  "[--json]",
	  "lines and symbols of an optimized program, for debuggers" },
	{ "doctor", doctor_run, "[--json] [--socket=PATH | --bus=ADDRESS]",
	  "does everything that Morph needs work here?" },
	{ "config", config_run, "[KEY...] [--explain] [--json] [--root=DIR]",
	  "what the configuration files say, and where" },
	{ "dump", dump_run, "FILE [--json] [--sidecar-dir DIR]",
	  "what sample logs, profiles and programs hold, as text" },
	{ NULL },
};

const struct verb *verb_find(const char *name)
{
	for (const struct verb *verb = verbs; verb->name; verb++)
		if (strcmp(verb->name, name) == 0)
			return verb;
	return NULL;
}

int verb_fail(const char *verb, const struct fault *fault)
{
	fprintf(stderr, "morph %s: %s\n", verb, fault->text);
	return VERB_FAILED;
}

int verb_refuse(const char *verb, const struct fault *fault)
{
	verb_fail(verb, fault);
	return VERB_USAGE;
}

int verb_usage(const char *verb)
{
	fprintf(stderr, "usage: morph %s %s\n", verb, verb_find(verb)->synopsis);
	return VERB_USAGE;
}

int verb_help(const char *verb)
{
	const struct verb *v = verb_find(verb);

	printf("usage: morph %s %s\n\n%s\n\nSee morph-%s(1).\n", verb, v->synopsis, v->summary, verb);
	return VERB_DONE;
}
